"""Runs a case through the public functions, on buffers exactly as large as their queries say.

Every buffer lies between guard zones and, where user tensors are concerned, at no more than its
type's natural alignment. Outputs, workspace and reserve are filled with NaN before each call, and
so is the padding of x and dy and every state that a mode does not have. After each call the guard
zones and all inputs must be as they were.
"""

from __future__ import annotations

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


class Buffer:
    """Memory between guard zones. `array` is what calls are given."""

    def __init__(self, shape: tuple[int, ...], dtype: str, shift: int = 0) -> None:
        """`shift` bytes off the allocator's own alignment."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        self._memory = np.full(nbytes + 2 * GUARD, GUARD_BYTE, np.uint8)
        self._start = GUARD + shift
        self._nbytes = nbytes
        self.bytes = self._memory[self._start : self._start + nbytes]
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
        before, after = self._memory[: self._start], self._memory[self._start + self._nbytes :]
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
        return [shared[n] for n in sizes]

    def _space_sizes(self) -> tuple[int, int, int]:
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
        training, inference, reserve = self._space_sizes()
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

    def _clear(self, *names: str) -> None:
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
        self._clear("y", "hy", "cy", "workspace", "reserve")
        spaces = *self._space("workspace"), *self._space("reserve")
        if self.case.is_sequence:
            self._sequence_forward(mi.miopenRNNTraining, spaces)
        else:
            arguments = self._descriptor_forward_arguments()
            mi.miopenRNNForwardTraining(*arguments, *spaces)
        return self._results("y", "hy", "cy")

    def forward_inference(self) -> dict[str, np.ndarray]:
        self._clear("y", "hy", "cy", "inference_workspace")
        space = self._space("inference_workspace")
        if self.case.is_sequence:
            self._sequence_forward(mi.miopenRNNInference, (*space, None, 0))
        else:
            mi.miopenRNNForwardInference(*self._descriptor_forward_arguments(), *space)
        return self._results("y", "hy", "cy")

    def _descriptor_forward_arguments(self) -> tuple:
        h = self.h_desc
        start = (self.handle, self.rnn, self.case.steps, self.x_desc, self["x"])
        states = (h, self["hx"], h, self["cx"], self.w_desc, self["w"])
        return *start, *states, self.y_desc, self["y"], h, self["hy"], h, self["cy"]

    def _sequence_forward(self, fwd_mode: object, spaces: tuple) -> None:
        mi.miopenRNNForward(
            self.handle,
            self.rnn,
            fwd_mode,
            self.x_desc,
            self["x"],
            self.h_desc,
            self["hx"],
            self["hy"],
            self.h_desc,
            self["cx"],
            self["cy"],
            self.y_desc,
            self["y"],
            *self._space("w"),
            *spaces,
        )

    def backward_data(self) -> dict[str, np.ndarray]:
        self._clear("dx", "dhx", "dcx", "workspace")
        h, spaces = self.h_desc, (*self._space("workspace"), *self._space("reserve"))
        start = (self.handle, self.rnn)
        if self.case.is_sequence:
            hidden = (h, self["hx"], self["dhy"], self["dhx"])
            cell = (h, self["cx"], self["dcy"], self["dcx"])
            outputs = (self.y_desc, None, self["dy"])
            inputs = (self.x_desc, self["dx"], *self._space("w"))
            mi.miopenRNNBackwardSeqData(*start, *outputs, *hidden, *cell, *inputs, *spaces)
        else:
            outputs = (self.case.steps, self.y_desc, None, self.y_desc, self["dy"])
            gradients = (h, self["dhy"], h, self["dcy"], self.w_desc, self["w"])
            states = (h, self["hx"], h, self["cx"])
            results = (self.x_desc, self["dx"], h, self["dhx"], h, self["dcx"])
            mi.miopenRNNBackwardData(*start, *outputs, *gradients, *states, *results, *spaces)
        return self._results("dx", "dhx", "dcx")

    def backward_weights(self) -> dict[str, np.ndarray]:
        self._clear("dw")
        h, spaces = self.h_desc, (*self._space("workspace"), *self._space("reserve"))
        inputs = (self.x_desc, self["x"], h, self["hx"], self.y_desc, None)
        if self.case.is_sequence:
            mi.miopenRNNBackwardWeightsSeqTensor(
                self.handle, self.rnn, *inputs, *self._space("dw"), *spaces
            )
        else:
            steps = self.case.steps
            outputs = (self.w_desc, self["dw"])
            mi.miopenRNNBackwardWeights(self.handle, self.rnn, steps, *inputs, *outputs, *spaces)
        return self._results("dw")

    def training(self) -> dict[str, np.ndarray]:
        """All three passes of one training step."""
        return self.forward_training() | self.backward_data() | self.backward_weights()

    def _results(self, *names: str) -> dict[str, np.ndarray]:
        """Copies of the outputs that were asked for, rows in canonical form."""
        self._check_memory()
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


def check(case: Case) -> Run:
    """Run every pass of a case and compare all it gives with the reference."""
    run, reference = Run(case), expected(case)
    assert_results(case, run.forward_inference(), reference.inference)
    assert_results(case, run.training(), reference.training)
    return run
