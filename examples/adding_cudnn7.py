"""The adding problem in the words of cuDNN 5 to 7: a descriptor for each step, packed rows.

python examples/adding_cudnn7.py [STEPS]
"""

from __future__ import annotations

from typing import Any

import adding
import numpy as np
from adding import BATCH, FEATURES, HIDDEN, LONGEST, Problems

from miopy import cudnn as cu


def tensor(*dims: int) -> Any:
    """The descriptor of a packed tensor; those of this age have three dimensions."""
    desc, strides = cu.cudnnCreateTensorDescriptor(), (dims[1] * dims[2], dims[2], 1)
    cu.cudnnSetTensorNdDescriptor(desc, cu.CUDNN_DATA_FLOAT, 3, dims, strides)
    return desc


class Network:
    """Weights are a filter; states have descriptors of their own."""

    def __init__(self) -> None:
        self.weights = adding.initial_weights("cudnn")
        self.handle = cu.cudnnCreate()
        self.rnn, self.w_desc = cu.cudnnCreateRNNDescriptor(), cu.cudnnCreateFilterDescriptor()
        cu.cudnnSetRNNDescriptor_v6(
            *(self.handle, self.rnn, HIDDEN, 1, cu.cudnnCreateDropoutDescriptor()),
            *(cu.CUDNN_LINEAR_INPUT, cu.CUDNN_UNIDIRECTIONAL, cu.CUDNN_LSTM),
            *(cu.CUDNN_RNN_ALGO_STANDARD, cu.CUDNN_DATA_FLOAT),
        )
        dims = (self.weights.size, 1, 1)
        cu.cudnnSetFilterNdDescriptor(
            self.w_desc, cu.CUDNN_DATA_FLOAT, cu.CUDNN_TENSOR_NCHW, 3, dims
        )
        # A descriptor for each number of sequences that may still be running.
        self.x_descs = {n: tensor(n, FEATURES, 1) for n in range(1, BATCH + 1)}
        self.y_descs = {n: tensor(n, HIDDEN, 1) for n in range(1, BATCH + 1)}
        self.h_desc = tensor(1, BATCH, HIDDEN)
        size = cu.cudnnGetRNNParamsSize(
            self.handle, self.rnn, self.x_descs[BATCH], cu.CUDNN_DATA_FLOAT
        )
        assert size == self.weights.nbytes

    def forward(self, problems: Problems) -> np.ndarray:
        running = np.arange(LONGEST)[:, np.newaxis] < problems.lengths
        self.x = problems.x[running]
        batches = [int(n) for n in running.sum(axis=1) if n]
        self.x_steps = [self.x_descs[n] for n in batches]
        self.y_steps = [self.y_descs[n] for n in batches]
        self.call = (self.handle, self.rnn, len(batches))
        workspace = np.empty(cu.cudnnGetRNNWorkspaceSize(*self.call, self.x_steps), np.uint8)
        reserve = np.empty(cu.cudnnGetRNNTrainingReserveSize(*self.call, self.x_steps), np.uint8)
        self.workspace = workspace, workspace.nbytes
        self.reserve = reserve, reserve.nbytes
        self.y = np.empty((len(self.x), HIDDEN), np.float32)
        hy, none = np.empty((1, BATCH, HIDDEN), np.float32), (self.h_desc, None)
        cu.cudnnRNNForwardTraining(
            *(*self.call, self.x_steps, self.x, *none, *none, self.w_desc, self.weights),
            *(self.y_steps, self.y, self.h_desc, hy, *none, *self.workspace, *self.reserve),
        )
        return hy[0]

    def backward(self, dh: np.ndarray) -> np.ndarray:
        dy, dx, none = np.zeros_like(self.y), np.empty_like(self.x), (self.h_desc, None)
        cu.cudnnRNNBackwardData(
            *(*self.call, self.y_steps, self.y, self.y_steps, dy, self.h_desc, dh, *none),
            *(self.w_desc, self.weights, *none, *none, self.x_steps, dx, *none, *none),
            *(*self.workspace, *self.reserve),
        )
        dw = np.zeros_like(self.weights)  # gradients are added to it
        cu.cudnnRNNBackwardWeights(
            *(*self.call, self.x_steps, self.x, *none, self.y_steps, self.y),
            *(*self.workspace, self.w_desc, dw, *self.reserve),
        )
        return dw


if __name__ == "__main__":
    adding.main(Network())
