"""Runs a case through the public functions, on buffers exactly as large as their queries say.

Every buffer lies between guard zones and, where user tensors are concerned, at no more than its
type's natural alignment. Outputs, workspace and reserve are filled with NaN before each call, and
so is the padding of x and dy and every state that a mode does not have. After each call the guard
zones and all inputs must be as they were.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tolerance
from cases import BATCH_PADDED, PADDED, SEQ_PACKED, SEQ_PADDED, Case, Data, Rows, expected

from miopy import miopen as mi

GUARD = 4096
GUARD_BYTE = 0xA5
NAN_BYTE = 0xFF  # a NaN in every floating type when repeated

MODES = {
    "relu": mi.miopenRNNRELU,
    "tanh": mi.miopenRNNTANH,
    "lstm": mi.miopenLSTM,
    "gru": mi.miopenGRU,
}
ALGOS = {
    "default": mi.miopenRNNdefault,
    "fundamental": mi.miopenRNNfundamental,
    "dynamic": mi.miopenRNNroundedDynamic,
}
DTYPES = {"float32": mi.miopenFloat, "float16": mi.miopenHalf}
LAYOUTS = {
    SEQ_PACKED: mi.miopenRNNDataSeqMajorNotPadded,
    SEQ_PADDED: mi.miopenRNNDataSeqMajorPadded,
    BATCH_PADDED: mi.miopenRNNDataBatchMajorPadded,
}
# Outputs of each pass, and the spaces whose contents before it must not matter.
PASSES = {
    "forward_training": (("y", "hy", "cy"), ("workspace", "reserve")),
    "forward_inference": (("y", "hy", "cy"), ("inference_workspace",)),
    "backward_data": (("dx", "dhx", "dcx"), ("workspace",)),
    "backward_weights": (("dw",), ()),
}


class Buffer:
    """Memory between guard zones; it starts at `start`. `array` is what calls are given."""

    def __init__(self, shape: tuple[int, ...], dtype: str, shift: int = 0) -> None:
        """`shift` bytes off the allocator's own alignment."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        self.memory = np.full(nbytes + 2 * GUARD, GUARD_BYTE, np.uint8)
        self.start = GUARD + shift
        self.bytes = self.memory[self.start : self.start + nbytes]
        self.array = self.bytes.view(dtype).reshape(shape)
        self.fill_nan()

    def fill_nan(self) -> None:
        self.bytes[:] = NAN_BYTE

    @property
    def is_untouched(self) -> bool:
        return bool((self.bytes == NAN_BYTE).all())

    @property
    def is_guarded(self) -> bool:
        """Whether nothing was written outside."""
        before, after = self.memory[: self.start], self.memory[self.start + self.bytes.nbytes :]
        return bool((before == GUARD_BYTE).all() and (after == GUARD_BYTE).all())


def tensor_descriptor(dtype: str, dims: list[int]) -> object:
    descriptor = mi.miopenCreateTensorDescriptor()
    mi.miopenSetTensorDescriptor(descriptor, DTYPES[dtype], len(dims), dims, None)
    return descriptor


def sequence_descriptor(case: Case, vector: int) -> object:
    descriptor = mi.miopenCreateSeqTensorDescriptor()
    marker = None if case.marker is None else np.array([case.marker], case.dtype)
    mi.miopenSetRNNDataSeqTensorDescriptor(
        descriptor,
        DTYPES[case.dtype],
        LAYOUTS[case.layout],
        case.steps,
        case.batch,
        vector,
        list(case.lengths),
        marker,
    )
    return descriptor


def rnn_descriptor(case: Case, handle: object) -> tuple[object, Buffer | None]:
    """A descriptor, and the dropout states it needs if any."""
    descriptor = mi.miopenCreateRNNDescriptor()
    configuration = (
        mi.miopenRNNskip if case.skip_input else mi.miopenRNNlinear,
        mi.miopenRNNbidirection if case.num_directions == 2 else mi.miopenRNNunidirection,
        MODES[case.mode],
        mi.miopenRNNwithBias if case.bias else mi.miopenRNNNoBias,
        ALGOS[case.algo],
        DTYPES[case.dtype],
    )
    states = None
    if case.dropout:
        states = Buffer((mi.miopenDropoutGetStatesSize(handle),), "uint8")
        dropout = mi.miopenCreateDropoutDescriptor()
        mi.miopenSetDropoutDescriptor(
            dropout,
            handle,
            case.dropout,
            states.array,
            states.array.nbytes,
            case.seed,
            False,
            False,
            mi.MIOPEN_RNG_PSEUDO_XORWOW,
        )
        mi.miopenSetRNNDescriptor_V2(
            descriptor, case.hidden_size, case.num_layers, dropout, *configuration
        )
    else:
        mi.miopenSetRNNDescriptor(descriptor, case.hidden_size, case.num_layers, *configuration)
    if case.layout == PADDED:
        mi.miopenSetRNNPaddingMode(descriptor, mi.miopenRNNIOWithPadding)
    return descriptor, states


class Run:
    """A case with its descriptors and buffers; one method per pass, in any order and number."""

    def __init__(self, case: Case, data: Data | None = None, extra_space: int = 0) -> None:
        """`extra_space` bytes are added to workspace and reserve."""
        self.case, self.rows, self.extra_space = case, Rows(case), extra_space
        self.handle = mi.miopenCreate()
        self.rnn, self.states = rnn_descriptor(case, self.handle)
        self.h_desc = tensor_descriptor(case.dtype, list(case.state_shape))
        if case.is_sequence:
            self.x_desc = sequence_descriptor(case, case.input_size)
            self.y_desc = sequence_descriptor(case, case.output_size)
        else:
            self.x_desc = self._step_descriptors(case.input_size)
            self.y_desc = self._step_descriptors(case.output_size)
        self.w_desc = mi.miopenCreateTensorDescriptor()
        step_desc = tensor_descriptor(case.dtype, [case.batch, case.input_size])
        dtype = DTYPES[case.dtype]
        mi.miopenGetRNNParamsDescriptor(self.handle, self.rnn, step_desc, self.w_desc, dtype)
        self.params_nbytes = mi.miopenGetRNNParamsSize(self.handle, self.rnn, step_desc, dtype)
        self.buffers = self._allocate()
        self._load(data or expected(case).data)

    def _step_descriptors(self, vector: int) -> list[object]:
        """One descriptor per step; steps of the same batch share theirs."""
        sizes = self.case.batch_sizes
        shared = {n: tensor_descriptor(self.case.dtype, [n, vector]) for n in set(sizes)}
        return [shared[n] for n in sizes if n]

    def space_sizes(self) -> tuple[int, int, int]:
        """Bytes of the workspaces for training and inference, and of the reserve."""
        if self.case.is_sequence:
            query = (self.handle, self.rnn, self.x_desc)
            training = mi.miopenGetRNNTempSpaceSizes(*query, mi.miopenRNNTraining)
            inference = mi.miopenGetRNNTempSpaceSizes(*query, mi.miopenRNNInference)
            return training[0], inference[0], training[1]
        query = (self.handle, self.rnn, self.case.steps, self.x_desc)
        workspace = mi.miopenGetRNNWorkspaceSize(*query)
        return workspace, workspace, mi.miopenGetRNNTrainingReserveSize(*query)

    def _allocate(self) -> dict[str, Buffer]:
        case, dtype = self.case, self.case.dtype
        rows_x = (self.rows.count, case.input_size)
        rows_y = (self.rows.count, case.output_size)
        itemsize = np.dtype(dtype).itemsize
        count = self.params_nbytes // itemsize
        shapes = {"x": rows_x, "dx": rows_x, "y": rows_y, "dy": rows_y, "w": (count,)}
        shapes["dw"] = (count,)
        shapes |= dict.fromkeys(("hx", "cx", "hy", "cy", "dhy", "dcy", "dhx", "dcx"))
        buffers = {
            name: Buffer(shape or case.state_shape, dtype, shift=itemsize)
            for name, shape in shapes.items()
            if name not in case.null
        }
        training, inference, reserve = self.space_sizes()
        spaces = {"workspace": training, "inference_workspace": inference, "reserve": reserve}
        for name, nbytes in spaces.items():
            buffers[name] = Buffer((nbytes + self.extra_space,), "uint8")
        return buffers

    def _load(self, data: Data) -> None:
        """Fill the inputs; what a mode does not read stays NaN."""
        self.rows.scatter(data.x, self.buffers["x"].array)
        self.rows.scatter(data.dy, self.buffers["dy"].array)
        self.buffers["w"].array[:] = data.w
        for name in ("hx", "dhy", "cx", "dcy") if self.case.mode == "lstm" else ("hx", "dhy"):
            if name in self.buffers:
                self.buffers[name].array[:] = getattr(data, name)
        self.inputs = {
            name: self.buffers[name].bytes.copy()
            for name in ("x", "w", "hx", "cx", "dy", "dhy", "dcy")
            if name in self.buffers
        }

    def __getitem__(self, name: str) -> np.ndarray | None:
        """The array to pass for an argument; None is NULL."""
        return self.buffers[name].array if name in self.buffers else None

    def clear(self, *names: str) -> None:
        """Fill buffers with NaN."""
        for name in names:
            if name in self.buffers:
                self.buffers[name].fill_nan()

    def _check_memory(self) -> None:
        for name, buffer in self.buffers.items():
            assert buffer.is_guarded, f"something was written outside {name}"
        for name, before in self.inputs.items():
            assert np.array_equal(self.buffers[name].bytes, before), f"{name} was changed"
        if self.case.mode != "lstm":
            for name in {"cy", "dcx"} & self.buffers.keys():
                assert self.buffers[name].is_untouched, f"{name} was written"

    def _space(self, name: str) -> tuple[np.ndarray, int]:
        array = self.buffers[name].array
        return array, array.nbytes

    def forward_training(self) -> dict[str, np.ndarray]:
        return self._perform("forward_training")

    def forward_inference(self) -> dict[str, np.ndarray]:
        return self._perform("forward_inference")

    def backward_data(self) -> dict[str, np.ndarray]:
        return self._perform("backward_data")

    def backward_weights(self) -> dict[str, np.ndarray]:
        return self._perform("backward_weights")

    def training(self) -> dict[str, np.ndarray]:
        """All three passes of one training step."""
        return self.forward_training() | self.backward_data() | self.backward_weights()

    def _perform(self, name: str) -> dict[str, np.ndarray]:
        """Run one pass with its outputs filled with NaN; copies of them afterwards."""
        outputs, spaces = PASSES[name]
        self.clear(*outputs, *spaces)
        self.execute(name)
        self._check_memory()
        return self.results(*outputs)

    def execute(self, name: str) -> None:
        """One pass on the buffers as they are."""
        function, arguments = self.call(name)
        function(*arguments)

    def call(self, name: str) -> tuple[Callable[..., None], tuple]:
        """The public function of a pass and its arguments."""
        return getattr(self, f"_{name}_sequence" if self.case.is_sequence else f"_{name}")()

    def _forward_arguments(self) -> tuple:
        h = self.h_desc
        start = (self.handle, self.rnn, self.case.steps, self.x_desc, self["x"])
        states = (h, self["hx"], h, self["cx"], self.w_desc, self["w"])
        return *start, *states, self.y_desc, self["y"], h, self["hy"], h, self["cy"]

    def _forward_training(self) -> tuple:
        spaces = *self._space("workspace"), *self._space("reserve")
        return mi.miopenRNNForwardTraining, (*self._forward_arguments(), *spaces)

    def _forward_inference(self) -> tuple:
        space = self._space("inference_workspace")
        return mi.miopenRNNForwardInference, (*self._forward_arguments(), *space)

    def _backward_data(self) -> tuple:
        h = self.h_desc
        start = (self.handle, self.rnn, self.case.steps)
        outputs = (self.y_desc, None, self.y_desc, self["dy"])
        gradients = (h, self["dhy"], h, self["dcy"], self.w_desc, self["w"])
        states = (h, self["hx"], h, self["cx"])
        results = (self.x_desc, self["dx"], h, self["dhx"], h, self["dcx"])
        spaces = *self._space("workspace"), *self._space("reserve")
        arguments = (*start, *outputs, *gradients, *states, *results, *spaces)
        return mi.miopenRNNBackwardData, arguments

    def _backward_weights(self) -> tuple:
        start = (self.handle, self.rnn, self.case.steps)
        inputs = (self.x_desc, self["x"], self.h_desc, self["hx"], self.y_desc, None)
        spaces = *self._space("workspace"), *self._space("reserve")
        arguments = (*start, *inputs, self.w_desc, self["dw"], *spaces)
        return mi.miopenRNNBackwardWeights, arguments

    def _sequence_forward(self, fwd_mode: int, *spaces: object) -> tuple:
        start = (self.handle, self.rnn, fwd_mode, self.x_desc, self["x"])
        hidden = (self.h_desc, self["hx"], self["hy"])
        cell = (self.h_desc, self["cx"], self["cy"])
        outputs = (self.y_desc, self["y"])
        arguments = (*start, *hidden, *cell, *outputs, *self._space("w"), *spaces)
        return mi.miopenRNNForward, arguments

    def _forward_training_sequence(self) -> tuple:
        spaces = *self._space("workspace"), *self._space("reserve")
        return self._sequence_forward(mi.miopenRNNTraining, *spaces)

    def _forward_inference_sequence(self) -> tuple:
        space = self._space("inference_workspace")
        return self._sequence_forward(mi.miopenRNNInference, *space, None, 0)

    def _backward_data_sequence(self) -> tuple:
        outputs = (self.y_desc, None, self["dy"])
        hidden = (self.h_desc, self["hx"], self["dhy"], self["dhx"])
        cell = (self.h_desc, self["cx"], self["dcy"], self["dcx"])
        inputs = (self.x_desc, self["dx"], *self._space("w"))
        spaces = *self._space("workspace"), *self._space("reserve")
        arguments = (self.handle, self.rnn, *outputs, *hidden, *cell, *inputs, *spaces)
        return mi.miopenRNNBackwardSeqData, arguments

    def _backward_weights_sequence(self) -> tuple:
        inputs = (self.x_desc, self["x"], self.h_desc, self["hx"], self.y_desc, None)
        spaces = *self._space("workspace"), *self._space("reserve")
        arguments = (self.handle, self.rnn, *inputs, *self._space("dw"), *spaces)
        return mi.miopenRNNBackwardWeightsSeqTensor, arguments

    def results(self, *names: str) -> dict[str, np.ndarray]:
        """Copies of the outputs that were asked for, rows in canonical form."""
        present = [name for name in names if name in self.buffers]
        if self.case.mode != "lstm":
            present = [name for name in present if name not in ("cy", "dcx")]
        results = {}
        for name in present:
            array = self.buffers[name].array
            results[name] = self.rows.gather(array) if name in ("y", "dx") else array.copy()
        return results


def summands(case: Case, name: str) -> int:
    """The longest dot product behind a result."""
    width = max(case.input_size, case.output_size) + case.hidden_size
    return max(width, sum(case.lengths)) if name == "dw" else width


def assert_results(
    case: Case, got: dict[str, np.ndarray], reference: dict[str, np.ndarray]
) -> None:
    for name, values in got.items():
        tolerance.assert_close(name, values, reference[name], case.dtype, summands(case, name))


def check(case: Case, kind: type[Run] = Run) -> Run:
    """Run every pass of a case and compare all it gives with the reference."""
    run, reference = kind(case), expected(case)
    assert_results(case, run.forward_inference(), reference.inference)
    assert_results(case, run.training(), reference.training)
    return run
