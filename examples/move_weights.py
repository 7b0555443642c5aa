"""An LSTM trained in torch, run through MIOpen's API, and its weights in three other formats.

The state of the module is made here in NumPy, under the names that `module.state_dict()` has; a
state that was saved with safetensors is read by `weights.read`.

    python examples/move_weights.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from recurrent import Recurrent

from miopy import weights

INPUT_SIZE, HIDDEN_SIZE, LAYERS, STEPS, BATCH = 5, 8, 2, 6, 3


def torch_state(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """What `torch.nn.LSTM(5, 8, 2).state_dict()` holds."""
    state, rows = {}, 4 * HIDDEN_SIZE
    for layer in range(LAYERS):
        features = HIDDEN_SIZE if layer else INPUT_SIZE
        shapes = {"weight_ih": (rows, features), "weight_hh": (rows, HIDDEN_SIZE)}
        shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        for name, shape in shapes.items():
            state[f"{name}_l{layer}"] = rng.uniform(-0.5, 0.5, shape).astype(np.float32)
    return state


def torch_forward(state: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """The outputs (steps, batch, hidden size) by torch's formula: its gates are i f g o."""

    def sigmoid(value: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-value))

    for layer in range(LAYERS):
        w, u, b, d = (
            state[f"{name}_l{layer}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        h = c = np.zeros((BATCH, HIDDEN_SIZE), np.float32)
        outputs = []
        for step in x:
            i, f, g, o = np.split(step @ w.T + b + h @ u.T + d, 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            outputs.append(h)
        x = np.stack(outputs)
    return x


def main(arguments: list[str]) -> int:
    """Convert, run, compare; with a folder, leave files there."""
    rng = np.random.default_rng(0)
    state = torch_state(rng)
    arrays, config = weights.convert(state, source="torch", target="miopen")
    print(f"{len(state)} arrays of torch are {arrays['weights'].size} elements of MIOpen's buffer")

    network = Recurrent("lstm", INPUT_SIZE, HIDDEN_SIZE, LAYERS, dropout=0.0)
    network.weights[:] = arrays["weights"]
    x = rng.uniform(-1, 1, (STEPS, BATCH, INPUT_SIZE)).astype(np.float32)
    y, _ = network.infer([BATCH] * STEPS, x.reshape(-1, INPUT_SIZE), network.zero_states(BATCH))
    expected = torch_forward(state, x).reshape(y.shape)
    print(f"largest difference from torch's formula: {np.abs(y - expected).max():.1e}")

    # Keras's LSTM has one bias where torch has two: they must be added, which is no way back.
    try:
        weights.convert(arrays, config, source="miopen", target="keras")
    except NotImplementedError as refusal:
        print(f"refused: {refusal}")
    for target in ("cudnn", "onnx", "keras"):
        there, config_there = weights.convert(
            arrays, config, source="miopen", target=target, sum_biases=target == "keras"
        )
        print(f"{target}: {', '.join(f'{name} {array.shape}' for name, array in there.items())}")
        for folder in arguments:
            weights.write(Path(folder) / f"{target}.safetensors", target, config_there, there)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
