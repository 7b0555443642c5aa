"""Runs a case through the version 8 functions of the cuDNN dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import BATCH_PADDED, SEQ_PACKED, SEQ_PADDED, Case, Data, Rows, expected
from guarded_run import Buffer, GuardedRun
from storage import memory_type, stored

from miopy import cudnn as cu

MODES = {
    "relu": cu.CUDNN_RNN_RELU,
    "tanh": cu.CUDNN_RNN_TANH,
    "lstm": cu.CUDNN_LSTM,
    "gru": cu.CUDNN_GRU,
}
BIASES = {
    "none": cu.CUDNN_RNN_NO_BIAS,
    "input": cu.CUDNN_RNN_SINGLE_INP_BIAS,
    "both": cu.CUDNN_RNN_DOUBLE_BIAS,
    "recurrent": cu.CUDNN_RNN_SINGLE_REC_BIAS,
}
ALGOS = {
    "standard": cu.CUDNN_RNN_ALGO_STANDARD,
    "static": cu.CUDNN_RNN_ALGO_PERSIST_STATIC,
    "dynamic": cu.CUDNN_RNN_ALGO_PERSIST_DYNAMIC,
    "small": cu.CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H,
}
DTYPES = {
    "float32": cu.CUDNN_DATA_FLOAT,
    "float16": cu.CUDNN_DATA_HALF,
    "bfloat16": cu.CUDNN_DATA_BFLOAT16,
    "float64": cu.CUDNN_DATA_DOUBLE,
}
LAYOUTS = {
    SEQ_PACKED: cu.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
    SEQ_PADDED: cu.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
    BATCH_PADDED: cu.CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED,
}
# Outputs of each pass, and the spaces whose contents before it must not matter.
PASSES = {
    "forward_training": (("y", "hy", "cy"), ("workspace", "reserve")),
    "forward_inference": (("y", "hy", "cy"), ("inference_workspace",)),
    "backward_data": (("dx", "dhx", "dcx"), ("workspace",)),
    "backward_weights": (("dw",), ("workspace",)),
}


def cudnn_case(mode: str = "lstm", lengths: tuple[int, ...] = (5, 3, 3, 1), **options: Any) -> Case:
    """A case of this dialect: packed, with two biases and the standard algorithm unless told."""
    given = {"bias": "both", "algo": "standard", "layout": SEQ_PACKED} | options
    return Case(mode, lengths, vendor="cudnn", **given)


def name_of(case: Case) -> str:
    """What tells cases of different parameters apart."""
    skip = "skip" if case.skip_input else "linear"
    size = case.projection_size
    return f"{case.mode}-{case.num_directions}-{case.network.bias}-{skip}-{size}"


def math_precision(dtype: str) -> int:
    return cu.CUDNN_DATA_DOUBLE if dtype == "float64" else cu.CUDNN_DATA_FLOAT


def tensor_descriptor(dtype: str, dims: tuple[int, ...]) -> Any:
    descriptor, strides = cu.cudnnCreateTensorDescriptor(), [1] * len(dims)
    for axis in reversed(range(len(dims) - 1)):
        strides[axis] = strides[axis + 1] * dims[axis + 1]
    cu.cudnnSetTensorNdDescriptor(descriptor, DTYPES[dtype], len(dims), dims, strides)
    return descriptor


def data_descriptor(case: Case, vector: int) -> Any:
    descriptor = cu.cudnnCreateRNNDataDescriptor()
    fill = None if case.marker is None else stored(np.array([case.marker]), case.dtype)
    cu.cudnnSetRNNDataDescriptor(
        descriptor,
        DTYPES[case.dtype],
        LAYOUTS[case.layout],
        case.steps,
        case.batch,
        vector,
        case.lengths,
        None if fill is None else fill.ctypes.data,
    )
    return descriptor


def dropout_descriptor(case: Case, handle: Any) -> tuple[Any, Buffer | None]:
    """A descriptor, and the states it needs if any."""
    descriptor = cu.cudnnCreateDropoutDescriptor()
    if not case.dropout:
        return descriptor, None
    states = Buffer((cu.cudnnDropoutGetStatesSize(handle),), "uint8")
    given = (case.dropout, states.array, states.array.nbytes, case.seed)
    cu.cudnnSetDropoutDescriptor(descriptor, handle, *given)
    return descriptor, states


def rnn_descriptor(case: Case, dropout: Any) -> Any:
    descriptor = cu.cudnnCreateRNNDescriptor()
    cu.cudnnSetRNNDescriptor_v8(
        descriptor,
        ALGOS[case.algo],
        MODES[case.mode],
        BIASES[case.network.bias],
        cu.CUDNN_BIDIRECTIONAL if case.num_directions == 2 else cu.CUDNN_UNIDIRECTIONAL,
        cu.CUDNN_SKIP_INPUT if case.skip_input else cu.CUDNN_LINEAR_INPUT,
        DTYPES[case.dtype],
        math_precision(case.dtype),
        cu.CUDNN_DEFAULT_MATH,
        case.input_size,
        case.hidden_size,
        case.network.state_size,
        case.num_layers,
        dropout,
        cu.CUDNN_RNN_PADDED_IO_ENABLED,
    )
    if case.clip:
        cu.cudnnRNNSetClip_v9(descriptor, cu.CUDNN_RNN_CLIP_MINMAX, *case.clip)
    return descriptor


class CudnnRun(GuardedRun):
    """A case with its descriptors and buffers. Gradients of weights start from zeros."""

    PASSES = PASSES

    def __init__(self, case: Case, data: Data | None = None, extra_space: int = 0) -> None:
        """`extra_space` bytes are added to workspace and reserve."""
        self.case, self.rows, self.extra_space = case, Rows(case), extra_space
        self.handle = cu.cudnnCreate()
        self.dropout, self.states = dropout_descriptor(case, self.handle)
        self.describe()
        self.h_desc = tensor_descriptor(case.dtype, case.state_shape)
        self.c_desc = tensor_descriptor(case.dtype, case.cell_shape)
        self.buffers = self.allocate()
        self.load(data or expected(case).data)

    def describe(self) -> None:
        case = self.case
        self.rnn = rnn_descriptor(case, self.dropout)
        self.x_desc = data_descriptor(case, case.input_size)
        self.y_desc = data_descriptor(case, case.output_size)
        self.params_nbytes = cu.cudnnGetRNNWeightSpaceSize(self.handle, self.rnn)

    def space_sizes(self) -> tuple[int, int, int]:
        training, reserve = cu.cudnnGetRNNTempSpaceSizes(
            self.handle, self.rnn, cu.CUDNN_FWD_MODE_TRAINING, self.x_desc
        )
        inference, none = cu.cudnnGetRNNTempSpaceSizes(
            self.handle, self.rnn, cu.CUDNN_FWD_MODE_INFERENCE, self.x_desc
        )
        assert none == 0
        return training, inference, reserve

    def __getitem__(self, name: str) -> Any:
        """What to pass for an argument: an array, an address where NumPy has no type, or None."""
        array = super().__getitem__(name)
        if array is None or memory_type(self.case.dtype) == self.case.dtype:
            return array
        return array.ctypes.data

    def clear(self, *names: str) -> None:
        super().clear(*names)
        if "dw" in names:
            self.buffers["dw"].array[:] = 0

    def space(self, name: str) -> tuple[int, np.ndarray]:
        """Size and memory, as version 8 has them."""
        array = self.buffers[name].array
        return array.nbytes, array

    def weights(self, name: str) -> tuple[int, Any]:
        return self.params_nbytes, self[name]

    def call(self, name: str) -> tuple[Callable[..., None], tuple]:
        """The public function of a pass and its arguments."""
        return getattr(self, f"_{name}")()

    def _forward(self, mode: int, *spaces: object) -> tuple[Callable[..., None], tuple]:
        sequences = (self.x_desc, self["x"], self.y_desc, self["y"])
        hidden, cell = (self.h_desc, self["hx"], self["hy"]), (self.c_desc, self["cx"], self["cy"])
        start = (self.handle, self.rnn, mode, None)
        return cu.cudnnRNNForward, (
            *(*start, *sequences, *hidden, *cell, *self.weights("w")),
            *spaces,
        )

    def _forward_training(self) -> tuple[Callable[..., None], tuple]:
        spaces = (*self.space("workspace"), *self.space("reserve"))
        return self._forward(cu.CUDNN_FWD_MODE_TRAINING, *spaces)

    def _forward_inference(self) -> tuple[Callable[..., None], tuple]:
        return self._forward(
            cu.CUDNN_FWD_MODE_INFERENCE, *self.space("inference_workspace"), 0, None
        )

    def _backward_data(self) -> tuple[Callable[..., None], tuple]:
        return cu.cudnnRNNBackwardData_v8, (
            *(self.handle, self.rnn, None),
            *(self.y_desc, self["y"], self["dy"], self.x_desc, self["dx"]),
            *(self.h_desc, self["hx"], self["dhy"], self["dhx"]),
            *(self.c_desc, self["cx"], self["dcy"], self["dcx"]),
            *(*self.weights("w"), *self.space("workspace"), *self.space("reserve")),
        )

    def _backward_weights(self) -> tuple[Callable[..., None], tuple]:
        return cu.cudnnRNNBackwardWeights_v8, (
            *(self.handle, self.rnn, cu.CUDNN_WGRAD_MODE_ADD, None),
            *(self.x_desc, self["x"], self.h_desc, self["hx"], self.y_desc, self["y"]),
            *(*self.weights("dw"), *self.space("workspace"), *self.space("reserve")),
        )


def check(case: Case) -> CudnnRun:
    """Run every pass of a case and compare all it gives with the reference."""
    run = CudnnRun(case)
    run.check()
    return run
