"""The adding problem in the words of cuDNN 8 and 9: padded sequences of any lengths.

python examples/adding_cudnn8.py [STEPS]
"""

from __future__ import annotations

from typing import Any

import adding
import numpy as np
from adding import BATCH, FEATURES, HIDDEN, LONGEST, Problems

from miopy import cudnn as cu


class Network:
    """One call per pass; its descriptors say type, layout and lengths."""

    def __init__(self) -> None:
        self.weights = adding.initial_weights("cudnn")
        self.handle = cu.cudnnCreate()
        self.rnn = cu.cudnnCreateRNNDescriptor()
        cu.cudnnSetRNNDescriptor_v8(
            *(self.rnn, cu.CUDNN_RNN_ALGO_STANDARD, cu.CUDNN_LSTM, cu.CUDNN_RNN_DOUBLE_BIAS),
            *(cu.CUDNN_UNIDIRECTIONAL, cu.CUDNN_LINEAR_INPUT, cu.CUDNN_DATA_FLOAT),
            *(cu.CUDNN_DATA_FLOAT, cu.CUDNN_DEFAULT_MATH, FEATURES, HIDDEN, HIDDEN, 1, None),
            cu.CUDNN_RNN_PADDED_IO_ENABLED,
        )
        assert cu.cudnnGetRNNWeightSpaceSize(self.handle, self.rnn) == self.weights.nbytes
        self.x_desc, self.y_desc = (cu.cudnnCreateRNNDataDescriptor() for _ in range(2))
        self.h_desc = cu.cudnnCreateTensorDescriptor()
        dims, strides = (1, BATCH, HIDDEN), (BATCH * HIDDEN, HIDDEN, 1)
        cu.cudnnSetTensorNdDescriptor(self.h_desc, cu.CUDNN_DATA_FLOAT, 3, dims, strides)

    def describe(self, desc: Any, lengths: np.ndarray, features: int) -> None:
        """Sequences as (LONGEST, BATCH, features) whose padding is filled with zeros."""
        layout = cu.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED
        sizes, zero = (LONGEST, BATCH, features), np.zeros(1, np.float32)
        cu.cudnnSetRNNDataDescriptor(desc, cu.CUDNN_DATA_FLOAT, layout, *sizes, lengths, zero)

    def forward(self, problems: Problems) -> np.ndarray:
        self.x = problems.x
        self.describe(self.x_desc, problems.lengths, FEATURES)
        self.describe(self.y_desc, problems.lengths, HIDDEN)
        workspace, reserve = cu.cudnnGetRNNTempSpaceSizes(
            self.handle, self.rnn, cu.CUDNN_FWD_MODE_TRAINING, self.x_desc
        )
        work, self.reserve = np.empty(workspace, np.uint8), np.empty(reserve, np.uint8)
        self.spaces = (work.nbytes, work, self.reserve.nbytes, self.reserve)
        self.y = np.empty((LONGEST, BATCH, HIDDEN), np.float32)
        hy = np.empty((1, BATCH, HIDDEN), np.float32)
        cu.cudnnRNNForward(
            *(self.handle, self.rnn, cu.CUDNN_FWD_MODE_TRAINING, None),
            *(self.x_desc, self.x, self.y_desc, self.y, self.h_desc, None, hy),
            *(self.h_desc, None, None, self.weights.nbytes, self.weights, *self.spaces),
        )
        return hy[0]

    def backward(self, dh: np.ndarray) -> np.ndarray:
        dy, dx = np.zeros_like(self.y), np.empty_like(self.x)
        cu.cudnnRNNBackwardData_v8(
            *(self.handle, self.rnn, None, self.y_desc, self.y, dy, self.x_desc, dx),
            *(self.h_desc, None, dh, None, self.h_desc, None, None, None),
            *(self.weights.nbytes, self.weights, *self.spaces),
        )
        dw = np.zeros_like(self.weights)  # gradients are added to it
        cu.cudnnRNNBackwardWeights_v8(
            *(self.handle, self.rnn, cu.CUDNN_WGRAD_MODE_ADD, None, self.x_desc, self.x),
            *(self.h_desc, None, self.y_desc, self.y, dw.nbytes, dw, *self.spaces),
        )
        return dw


if __name__ == "__main__":
    adding.main(Network())
