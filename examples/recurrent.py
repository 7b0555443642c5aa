"""A stack of recurrent layers in NumPy arrays, computed by MIOpen's API.

Memory is the caller's, as always with MIOpen: every buffer here is as large as its query says.
In a call a tensor is a pair of descriptor and data; a sequence is an array of descriptors, one per
step, whose first dimension is the number of sequences still running at that step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from miopy import miopen as mi

# Mode, and gates per cell.
MODES = {"lstm": (mi.miopenLSTM, 4), "gru": (mi.miopenGRU, 3), "tanh": (mi.miopenRNNTANH, 1)}

States = tuple[np.ndarray, np.ndarray]  # h and c, each (layers, batch, hidden size)


class Recurrent:
    """The weights of the layers, one flat buffer, and the four passes over them."""

    def __init__(self, mode: str, input_size: int, hidden_size: int, layers: int, dropout: float):
        self.mode, self.num_gates = MODES[mode]
        self.input_size, self.hidden_size, self.layers = input_size, hidden_size, layers
        self.dropout = dropout
        self.handle = mi.miopenCreate()
        self.descriptors: dict[tuple[int, ...], Any] = {}
        self.scratch: dict[str, np.ndarray] = {}

        self.dropout_desc = mi.miopenCreateDropoutDescriptor()
        self.seed_dropout(0)
        self.desc = mi.miopenCreateRNNDescriptor()
        modes = (mi.miopenRNNlinear, mi.miopenRNNunidirection, self.mode, mi.miopenRNNwithBias)
        mi.miopenSetRNNDescriptor_V2(
            *(self.desc, hidden_size, layers, self.dropout_desc),
            *(*modes, mi.miopenRNNdefault, mi.miopenFloat),
        )
        row = self.tensor(1, input_size)
        self.w_desc = mi.miopenCreateTensorDescriptor()
        mi.miopenGetRNNParamsDescriptor(self.handle, self.desc, row, self.w_desc, mi.miopenFloat)
        nbytes = mi.miopenGetRNNParamsSize(self.handle, self.desc, row, mi.miopenFloat)
        self.weights = np.zeros(nbytes // 4, np.float32)

    def tensor(self, *dims: int) -> Any:
        """The descriptor of a packed float32 tensor."""
        if dims not in self.descriptors:
            desc = self.descriptors[dims] = mi.miopenCreateTensorDescriptor()
            mi.miopenSetTensorDescriptor(desc, mi.miopenFloat, len(dims), dims, None)
        return self.descriptors[dims]

    def buffer(self, name: str, nbytes: int) -> tuple[np.ndarray, int]:
        """Memory that is kept from call to call and grows on demand, and its size."""
        if name not in self.scratch or self.scratch[name].nbytes < nbytes:
            self.scratch[name] = np.empty(nbytes, np.uint8)
        return self.scratch[name], self.scratch[name].nbytes

    def seed_dropout(self, seed: int) -> None:
        """Masks repeat from call to call until the descriptor is seeded again."""
        states = self.buffer("dropout states", mi.miopenDropoutGetStatesSize(self.handle))
        mi.miopenSetDropoutDescriptor(
            *(self.dropout_desc, self.handle, self.dropout, *states, seed),
            *(False, False, mi.MIOPEN_RNG_PSEUDO_XORWOW),
        )

    def initialise(self, rng: np.random.Generator) -> None:
        """Uniform matrices, zero biases."""
        row, bound = self.tensor(1, self.input_size), self.hidden_size**-0.5
        weights = (row, self.w_desc, self.weights)
        desc = mi.miopenCreateTensorDescriptor()
        for layer in range(self.layers):
            for gate in range(2 * self.num_gates):  # of the input, then of the recurrent matrices
                mi.miopenGetRNNLayerParamOffset(self.desc, layer, row, gate, desc)
                _, dims, _ = mi.miopenGetTensorDescriptor(desc)
                matrix = rng.uniform(-bound, bound, dims).astype(np.float32)
                place = (self.handle, self.desc, layer, *weights, gate, desc)
                mi.miopenSetRNNLayerParam(*place, matrix)

                mi.miopenGetRNNLayerBiasOffset(self.desc, layer, row, gate, desc)
                mi.miopenSetRNNLayerBias(*place, np.zeros(self.hidden_size, np.float32))
        mi.miopenDestroyTensorDescriptor(desc)

    def describe(self, batch_sizes: list[int]) -> tuple[list[Any], list[Any], Any]:
        """Descriptors of x and of y at every step, and of a state."""
        x_descs = [self.tensor(batch, self.input_size) for batch in batch_sizes]
        y_descs = [self.tensor(batch, self.hidden_size) for batch in batch_sizes]
        return x_descs, y_descs, self.tensor(self.layers, batch_sizes[0], self.hidden_size)

    def forward(self, batch_sizes: list[int], x: np.ndarray) -> np.ndarray:
        """Training pass from zero states: x (rows, input size) -> y (rows, hidden size)."""
        x_descs, y_descs, h_desc = self.describe(batch_sizes)
        call = (self.handle, self.desc, len(batch_sizes), x_descs)
        workspace = self.buffer("workspace", mi.miopenGetRNNWorkspaceSize(*call))
        reserve = self.buffer("reserve", mi.miopenGetRNNTrainingReserveSize(*call))
        y = np.empty((len(x), self.hidden_size), np.float32)
        w, zero = (self.w_desc, self.weights), (h_desc, None)
        mi.miopenRNNForwardTraining(
            *(*call, x, *zero, *zero, *w, y_descs, y, *zero, *zero, *workspace, *reserve)
        )
        return y

    def backward(
        self, batch_sizes: list[int], x: np.ndarray, y: np.ndarray, dy: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradients of x and of the weights, for the pass that `forward` has just made."""
        x_descs, y_descs, h_desc = self.describe(batch_sizes)
        call = (self.handle, self.desc, len(batch_sizes))
        spaces = (*self.buffer("workspace", 0), *self.buffer("reserve", 0))
        dx, dw = np.empty_like(x), np.empty_like(self.weights)
        w, zero = (self.w_desc, self.weights), (h_desc, None)
        mi.miopenRNNBackwardData(
            *(*call, y_descs, y, y_descs, dy, *zero, *zero, *w, *zero, *zero),
            *(x_descs, dx, *zero, *zero, *spaces),
        )
        mi.miopenRNNBackwardWeights(
            *(*call, x_descs, x, *zero, y_descs, y, self.w_desc, dw, *spaces)
        )
        return dx, dw

    def zero_states(self, batch: int) -> States:
        """The states of `batch` sequences before their first step."""
        shape = (self.layers, batch, self.hidden_size)
        return np.zeros(shape, np.float32), np.zeros(shape, np.float32)

    def infer(
        self, batch_sizes: list[int], x: np.ndarray, states: States
    ) -> tuple[np.ndarray, States]:
        """y and the new states, without dropout, continuing from `states`."""
        x_descs, y_descs, h_desc = self.describe(batch_sizes)
        call = (self.handle, self.desc, len(batch_sizes), x_descs)
        workspace = self.buffer("workspace", mi.miopenGetRNNWorkspaceSize(*call))
        y = np.empty((len(x), self.hidden_size), np.float32)
        (hx, cx), (hy, cy) = states, self.zero_states(batch_sizes[0])
        mi.miopenRNNForwardInference(
            *(*call, x, h_desc, hx, h_desc, cx, self.w_desc, self.weights),
            *(y_descs, y, h_desc, hy, h_desc, cy, *workspace),
        )
        return y, (hy, cy)
