"""The adding problem in the words of MIOpen: padded sequences, as in adding_cudnn8.py.

python examples/adding_miopen.py [STEPS]
"""

from __future__ import annotations

from typing import Any

import adding
import numpy as np
from adding import BATCH, FEATURES, HIDDEN, LONGEST, Problems

from miopy import miopen as mi


class Network:
    """The functions on sequence tensors; examples/recurrent.py has those with steps."""

    def __init__(self) -> None:
        self.weights = adding.initial_weights("miopen")
        self.handle = mi.miopenCreate()
        self.rnn = mi.miopenCreateRNNDescriptor()
        mi.miopenSetRNNDescriptor(
            *(self.rnn, HIDDEN, 1, mi.miopenRNNlinear, mi.miopenRNNunidirection, mi.miopenLSTM),
            *(mi.miopenRNNwithBias, mi.miopenRNNdefault, mi.miopenFloat),
        )
        self.x_desc, self.y_desc = (mi.miopenCreateSeqTensorDescriptor() for _ in range(2))
        self.h_desc, step = (mi.miopenCreateTensorDescriptor() for _ in range(2))
        mi.miopenSetTensorDescriptor(self.h_desc, mi.miopenFloat, 3, (1, BATCH, HIDDEN), None)
        mi.miopenSetTensorDescriptor(step, mi.miopenFloat, 2, (BATCH, FEATURES), None)
        size = mi.miopenGetRNNParamsSize(self.handle, self.rnn, step, mi.miopenFloat)
        assert size == self.weights.nbytes

    def describe(self, desc: Any, lengths: np.ndarray, features: int) -> None:
        """Sequences as (LONGEST, BATCH, features) whose padding is filled with zeros."""
        layout, sizes = mi.miopenRNNDataSeqMajorPadded, (LONGEST, BATCH, features)
        mi.miopenSetRNNDataSeqTensorDescriptor(desc, mi.miopenFloat, layout, *sizes, lengths, None)

    def forward(self, problems: Problems) -> np.ndarray:
        self.x = problems.x
        self.describe(self.x_desc, problems.lengths, FEATURES)
        self.describe(self.y_desc, problems.lengths, HIDDEN)
        workspace, reserve = mi.miopenGetRNNTempSpaceSizes(
            self.handle, self.rnn, self.x_desc, mi.miopenRNNTraining
        )
        work, self.reserve = np.empty(workspace, np.uint8), np.empty(reserve, np.uint8)
        self.spaces = (work, work.nbytes, self.reserve, self.reserve.nbytes)
        self.y = np.empty((LONGEST, BATCH, HIDDEN), np.float32)
        hy = np.empty((1, BATCH, HIDDEN), np.float32)
        mi.miopenRNNForward(
            *(self.handle, self.rnn, mi.miopenRNNTraining, self.x_desc, self.x),
            *(self.h_desc, None, hy, self.h_desc, None, None, self.y_desc, self.y),
            *(self.weights, self.weights.nbytes, *self.spaces),
        )
        return hy[0]

    def backward(self, dh: np.ndarray) -> np.ndarray:
        dy, dx = np.zeros_like(self.y), np.empty_like(self.x)
        mi.miopenRNNBackwardSeqData(
            *(self.handle, self.rnn, self.y_desc, self.y, dy, self.h_desc, None, dh, None),
            *(self.h_desc, None, None, None, self.x_desc, dx),
            *(self.weights, self.weights.nbytes, *self.spaces),
        )
        dw = np.empty_like(self.weights)  # gradients overwrite it; the workspace must be the same
        mi.miopenRNNBackwardWeightsSeqTensor(
            *(self.handle, self.rnn, self.x_desc, self.x, self.h_desc, None),
            *(self.y_desc, self.y, dw, dw.nbytes, *self.spaces),
        )
        return dw


if __name__ == "__main__":
    adding.main(Network())
