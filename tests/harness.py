"""Runs a case through the public functions of the MIOpen dialect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cases import BATCH_PADDED, PADDED, SEQ_PACKED, SEQ_PADDED, Case, Data, Rows, expected
from guarded_run import Buffer, GuardedRun, assert_results, summands

from miopy import miopen as mi

__all__ = ["Buffer", "Run", "assert_results", "check", "summands"]

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


class Run(GuardedRun):
    """A case with its descriptors and buffers; one method per pass, in any order and number."""

    PASSES = PASSES

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
        self.buffers = self.allocate()
        self.load(data or expected(case).data)

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


def check(case: Case, kind: type[Run] = Run) -> Run:
    """Run every pass of a case and compare all it gives with the reference."""
    run = kind(case)
    run.check()
    return run
