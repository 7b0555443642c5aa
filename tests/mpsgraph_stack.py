"""A stack of layers of MPSGraph's operations, as a framework calls them: forward through the
layers, then the gradients from the top down. Weights are arrays of `miopy.weights`' format."""

from __future__ import annotations

from typing import Any

import numpy as np

from miopy import mpsgraph

GRADIENTS = {
    "LSTM": ("inputWeight", "bias", "initState", "initCell"),
    "GRU": ("inputWeight", "bias", "initState", "secondaryBias"),
    "singleGateRNN": ("inputWeight", "bias", "initState"),
}


def operation_of(cell: str) -> tuple[str, Any]:
    """The name of the operation, and a descriptor for training."""
    if cell == "lstm":
        return "LSTM", mpsgraph.MPSGraphLSTMDescriptor(training=True)
    if cell == "gru":
        return "GRU", mpsgraph.MPSGraphGRUDescriptor(training=True, resetAfter=True)
    activation = mpsgraph.MPSGraphRNNActivation[cell]
    descriptor = mpsgraph.MPSGraphSingleGateRNNDescriptor(training=True, activation=activation)
    return "singleGateRNN", descriptor


class Stack:
    """Layers of one cell. States are (L * D, N, H), as everyone else has them."""

    def __init__(
        self, cell: str, weights: dict[str, np.ndarray], layers: int, directions: int
    ) -> None:
        self.operation, self.descriptor = operation_of(cell)
        self.descriptor.bidirectional = directions == 2
        self.layers, self.directions = layers, directions
        self.weights: list[dict[str, np.ndarray]] = [
            {
                name.partition(".")[2]: array
                for name, array in weights.items()
                if name.startswith(f"layer{layer}.")
            }
            for layer in range(layers)
        ]

    def _state(self, states: np.ndarray, layer: int) -> np.ndarray:
        """(N, D * H) of a layer."""
        of_layer = states[layer * self.directions : (layer + 1) * self.directions]
        return np.ascontiguousarray(np.concatenate(list(of_layer), axis=1))

    def _states(self, of_layers: list[np.ndarray]) -> np.ndarray:
        """The inverse."""
        halves = [np.split(each, self.directions, axis=1) for each in of_layers]
        return np.stack([half for pair in halves for half in pair])

    def _last(self, outputs: list[np.ndarray]) -> np.ndarray:
        """The state of every direction after its last step."""
        ends = []
        for output in outputs:
            halves = np.split(output, self.directions, axis=2)
            ends += [half[-1 if direction == 0 else 0] for direction, half in enumerate(halves)]
        return np.stack(ends)

    def forward(self, x: np.ndarray, hx: np.ndarray, cx: np.ndarray) -> dict[str, np.ndarray]:
        """y, hy and, of LSTM, cy."""
        self.inputs: list[dict[str, np.ndarray]] = []
        self.results: list[list[np.ndarray]] = []
        for layer, weights in enumerate(self.weights):
            given = {"source": x, "initState": self._state(hx, layer)} | weights
            if self.operation == "LSTM":
                given["initCell"] = self._state(cx, layer)
            self.inputs.append(given)
            run = getattr(mpsgraph, self.operation)
            self.results.append(run(**given, descriptor=self.descriptor))
            x = self.results[-1][0]
        found = {"y": x, "hy": self._last([each[0] for each in self.results])}
        if self.operation == "LSTM":
            found["cy"] = self._last([each[1] for each in self.results])
        return found

    def backward(self, dy: np.ndarray, dhy: np.ndarray, dcy: np.ndarray) -> dict[str, np.ndarray]:
        """dx, dhx, of LSTM dcx, and gradients of the weights by their names."""
        run = getattr(mpsgraph, f"{self.operation}Gradients")
        found: dict[str, np.ndarray] = {}
        states: dict[str, list[np.ndarray]] = {"initState": [], "initCell": []}
        for layer in reversed(range(self.layers)):
            given = dict(self.inputs[layer], sourceGradient=dy)
            given["stateGradient"] = self._state(dhy, layer)
            h, *kept = self.results[layer]
            if self.operation == "LSTM":
                given |= {"cellOutputFwd": kept[0], "zState": kept[1]}
                given["cellGradient"] = self._state(dcy, layer)
            else:
                given |= {"zState": kept[0]} | ({"outputFwd": h} if self.operation == "GRU" else {})
            results = run(**given, descriptor=self.descriptor)
            names = [name for name in GRADIENTS[self.operation] if name in given]
            dy, found[f"layer{layer}.recurrentWeight"], *others = results
            for name, gradient in zip(names, others, strict=True):
                if name in states:
                    states[name].insert(0, gradient)
                else:
                    found[f"layer{layer}.{name}"] = gradient
        found |= {"dx": dy, "dhx": self._states(states["initState"])}
        return found | ({"dcx": self._states(states["initCell"])} if states["initCell"] else {})
