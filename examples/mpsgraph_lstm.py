"""MPSGraph's LSTM in NumPy arrays: a layer learns to say again what it was told some steps before.

A sequence is of random signs; the target at each step is the sign that came DELAY steps earlier.
The operation runs forward with `training`, which gives the gates; that of the gradients takes these
back. Weights are separate arrays, as MPSGraph has them, and go to other libraries by
`miopy.weights`.

    python examples/mpsgraph_lstm.py [FILE.npz]
"""

from __future__ import annotations

import sys

import numpy as np

from miopy import mpsgraph, weights
from miopy.core.config import RNNConfig

BATCH, STEPS, UNITS, DELAY = 32, 20, 16, 3
ROUNDS, RATE = 200, 0.02
NAMES = ("recurrentWeight", "inputWeight", "bias")


def make_weights(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Uniform matrices, by the names of the operation's arguments; blocks are i, f, z, o."""
    bound = UNITS**-0.5
    shapes = ((4 * UNITS, UNITS), (4 * UNITS, 1), (4 * UNITS,))
    found = {
        name: rng.uniform(-bound, bound, shape).astype(np.float32)
        for name, shape in zip(NAMES, shapes, strict=True)
    }
    found["bias"][UNITS : 2 * UNITS] += 1  # remember at first
    return found


def draw_batch(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (steps, batch, 1), and the same later."""
    x = rng.choice(np.float32([-1, 1]), (STEPS, BATCH, 1))
    targets = np.concatenate([np.zeros((DELAY, BATCH, 1), np.float32), x[:-DELAY]])
    return x, targets


def train_step(
    parameters: dict[str, np.ndarray], x: np.ndarray, targets: np.ndarray
) -> tuple[float, dict[str, np.ndarray]]:
    """The mean squared error of the first unit's output, and its gradients by the weights."""
    descriptor = mpsgraph.MPSGraphLSTMDescriptor.descriptor()
    descriptor.training = True
    h, c, z = mpsgraph.LSTM(x, **parameters, descriptor=descriptor)
    error = 2 * h[..., :1] - targets  # an output stays below 1
    gradient = np.zeros_like(h)
    gradient[..., :1] = 4 * error / error.size
    _, *gradients = mpsgraph.LSTMGradients(
        x,
        **parameters,
        sourceGradient=gradient,
        zState=z,
        cellOutputFwd=c,
        descriptor=descriptor,
    )
    return float(np.square(error).mean()), dict(zip(NAMES, gradients, strict=True))


def main(arguments: list[str]) -> int:
    """Train, report, and leave the weights as a state of torch's LSTM in a file if one is named."""
    rng = np.random.default_rng(0)
    parameters = make_weights(rng)
    average = {name: np.zeros_like(array) for name, array in parameters.items()}
    square = {name: np.zeros_like(array) for name, array in parameters.items()}
    for number in range(1, ROUNDS + 1):
        loss, gradients = train_step(parameters, *draw_batch(rng))
        for name, gradient in gradients.items():  # Adam
            average[name] += 0.1 * (gradient - average[name])
            square[name] += 0.001 * (gradient**2 - square[name])
            scale = np.sqrt(square[name] / (1 - 0.999**number)) + 1e-8
            parameters[name] -= RATE * average[name] / (1 - 0.9**number) / scale
        if number in (1, ROUNDS // 2, ROUNDS):
            print(f"round {number}: loss {loss:.5f}")

    arrays = {f"layer0.{name}": array for name, array in parameters.items()}
    config = RNNConfig("lstm", 1, UNITS, bias="input")
    state, there = weights.convert(arrays, config, source="mpsgraph", target="torch")
    print(f"{', '.join(NAMES)} are {', '.join(state)} of torch")
    for path in arguments:
        weights.write(path, "torch", there, state)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
