"""Runs a case through the functions of cuDNN 7: one descriptor per step, and the Ex family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cases import SEQ_PACKED, Case
from cudnn_harness import (
    ALGOS,
    BIASES,
    DTYPES,
    MODES,
    CudnnRun,
    data_descriptor,
    math_precision,
    tensor_descriptor,
)
from storage import memory_type

from miopy import cudnn as cu

NO_ATTENTION = (None,) * 8


def legacy_descriptor(case: Case, handle: Any, dropout: Any) -> Any:
    """An RNN descriptor, set function by function."""
    descriptor = cu.cudnnCreateRNNDescriptor()
    cu.cudnnSetRNNDescriptor_v6(
        handle,
        descriptor,
        case.hidden_size,
        case.num_layers,
        dropout,
        cu.CUDNN_SKIP_INPUT if case.skip_input else cu.CUDNN_LINEAR_INPUT,
        cu.CUDNN_BIDIRECTIONAL if case.num_directions == 2 else cu.CUDNN_UNIDIRECTIONAL,
        MODES[case.mode],
        ALGOS[case.algo],
        math_precision(case.dtype),
    )
    if case.network.bias != "both":
        cu.cudnnSetRNNBiasMode(descriptor, BIASES[case.network.bias])
    if case.projection_size:
        cu.cudnnSetRNNProjectionLayers(handle, descriptor, case.projection_size, 0)
    if case.clip:
        minmax, nan = cu.CUDNN_RNN_CLIP_MINMAX, cu.CUDNN_PROPAGATE_NAN
        cu.cudnnRNNSetClip(handle, descriptor, minmax, nan, *case.clip)
    if case.layout != SEQ_PACKED:
        cu.cudnnSetRNNPaddingMode(descriptor, cu.CUDNN_RNN_PADDED_IO_ENABLED)
    return descriptor


def filter_descriptor(dtype: str, count: int) -> Any:
    descriptor = cu.cudnnCreateFilterDescriptor()
    dims = (count, 1, 1)
    cu.cudnnSetFilterNdDescriptor(descriptor, DTYPES[dtype], cu.CUDNN_TENSOR_NCHW, 3, dims)
    return descriptor


class LegacyRun(CudnnRun):
    """What both families share: descriptors and sizes."""

    def describe(self) -> None:
        case = self.case
        self.rnn = legacy_descriptor(case, self.handle, self.dropout)
        sizes = [size for size in case.batch_sizes if size]
        self.x_steps = [tensor_descriptor(case.dtype, (n, case.input_size, 1)) for n in sizes]
        self.y_steps = [tensor_descriptor(case.dtype, (n, case.output_size, 1)) for n in sizes]
        self.params_nbytes = cu.cudnnGetRNNParamsSize(
            self.handle, self.rnn, self.x_steps[0], DTYPES[case.dtype]
        )
        count = self.params_nbytes // memory_type(case.dtype).itemsize
        self.w_desc = filter_descriptor(case.dtype, count)

    def space_sizes(self) -> tuple[int, int, int]:
        query = (self.handle, self.rnn, len(self.x_steps), self.x_steps)
        workspace = cu.cudnnGetRNNWorkspaceSize(*query)
        return workspace, workspace, cu.cudnnGetRNNTrainingReserveSize(*query)

    def space(self, name: str) -> tuple[Any, int]:
        """Memory and size, as version 7 has them."""
        array = self.buffers[name].array
        return array, array.nbytes

    def state(self, name: str) -> tuple[Any, Any]:
        return self.c_desc if "c" in name else self.h_desc, self[name]

    def with_descriptors(self, *names: str) -> list[Any]:
        return [each for name in names for each in self.state(name)]


class StepsRun(LegacyRun):
    """cudnnRNNForwardTraining and its family."""

    def _forward(self, function: Callable[..., None], *spaces: Any) -> tuple:
        return function, (
            *(self.handle, self.rnn, len(self.x_steps), self.x_steps, self["x"]),
            *(*self.with_descriptors("hx", "cx"), self.w_desc, self["w"]),
            *(self.y_steps, self["y"], *self.with_descriptors("hy", "cy"), *spaces),
        )

    def _forward_inference(self) -> tuple:
        return self._forward(cu.cudnnRNNForwardInference, *self.space("inference_workspace"))

    def _forward_training(self) -> tuple:
        spaces = (*self.space("workspace"), *self.space("reserve"))
        return self._forward(cu.cudnnRNNForwardTraining, *spaces)

    def _backward_data(self) -> tuple:
        return cu.cudnnRNNBackwardData, (
            *(self.handle, self.rnn, len(self.x_steps)),
            *(
                self.y_steps,
                self["y"],
                self.y_steps,
                self["dy"],
                *self.with_descriptors("dhy", "dcy"),
            ),
            *(self.w_desc, self["w"], *self.with_descriptors("hx", "cx"), self.x_steps, self["dx"]),
            *(
                *self.with_descriptors("dhx", "dcx"),
                *self.space("workspace"),
                *self.space("reserve"),
            ),
        )

    def _backward_weights(self) -> tuple:
        return cu.cudnnRNNBackwardWeights, (
            *(self.handle, self.rnn, len(self.x_steps), self.x_steps, self["x"]),
            *(*self.with_descriptors("hx"), self.y_steps, self["y"], *self.space("workspace")),
            *(self.w_desc, self["dw"], *self.space("reserve")),
        )


class ExRun(LegacyRun):
    """cudnnRNNForwardTrainingEx and its family."""

    def describe(self) -> None:
        super().describe()
        self.x_desc = data_descriptor(self.case, self.case.input_size)
        self.y_desc = data_descriptor(self.case, self.case.output_size)

    def _forward(self, function: Callable[..., None], *spaces: Any) -> tuple:
        return function, (
            *(self.handle, self.rnn, self.x_desc, self["x"], *self.with_descriptors("hx", "cx")),
            *(self.w_desc, self["w"], self.y_desc, self["y"], *self.with_descriptors("hy", "cy")),
            *(*NO_ATTENTION, *spaces),
        )

    def _forward_inference(self) -> tuple:
        return self._forward(cu.cudnnRNNForwardInferenceEx, *self.space("inference_workspace"))

    def _forward_training(self) -> tuple:
        spaces = (*self.space("workspace"), *self.space("reserve"))
        return self._forward(cu.cudnnRNNForwardTrainingEx, *spaces)

    def _backward_data(self) -> tuple:
        return cu.cudnnRNNBackwardDataEx, (
            *(self.handle, self.rnn, self.y_desc, self["y"], self.y_desc, self["dy"], None, None),
            *(
                *self.with_descriptors("dhy", "dcy"),
                self.w_desc,
                self["w"],
                *self.with_descriptors("hx", "cx"),
            ),
            *(self.x_desc, self["dx"], *self.with_descriptors("dhx", "dcx"), None, None),
            *(*self.space("workspace"), *self.space("reserve")),
        )

    def _backward_weights(self) -> tuple:
        return cu.cudnnRNNBackwardWeightsEx, (
            *(self.handle, self.rnn, self.x_desc, self["x"], *self.with_descriptors("hx")),
            *(self.y_desc, self["y"], *self.space("workspace")),
            *(self.w_desc, self["dw"], *self.space("reserve")),
        )
