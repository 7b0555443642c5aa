"""TensorFlow's CudnnRNN ops in NumPy arrays: a GRU learns to tell how much it has been given.

A sequence holds numbers; the target is their running sum, squashed. Sequences differ in length, so
the third version of the ops is used, with batch first. `params` is trained as one flat buffer, as
TensorFlow programs do, and goes to other libraries by its canonical form or by `miopy.weights`.

    python examples/tensorflow_cudnn.py [FILE.npz]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from miopy import tensorflow_cudnn as tc
from miopy import weights
from miopy.core.config import RNNConfig

BATCH, STEPS, INPUT_SIZE, UNITS, LAYERS = 16, 12, 1, 16, 2
ROUNDS, RATE = 150, 0.02
NETWORK = {"num_layers": LAYERS, "num_units": UNITS, "input_size": INPUT_SIZE, "rnn_mode": "gru"}


def make_params(rng: np.random.Generator) -> np.ndarray:
    """Uniform matrices and zero biases, from canonical form: of each gate input then recurrent."""
    bound = UNITS**-0.5
    matrices, biases = [], []
    for layer in range(LAYERS):
        for width in [UNITS if layer else INPUT_SIZE] * 3 + [UNITS] * 3:
            matrices.append(rng.uniform(-bound, bound, (UNITS, width)).astype(np.float32))
            biases.append(np.zeros(UNITS, np.float32))
    params = tc.CudnnRNNCanonicalToParams(weights=matrices, biases=biases, **NETWORK)
    assert params.shape == tuple(tc.CudnnRNNParamsSize(T=np.float32, S=np.int32, **NETWORK))
    return params


def draw_batch(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs (batch, steps, 1), padded with zeros, their targets and lengths."""
    lengths = rng.integers(1, STEPS + 1, BATCH).astype(np.int32)
    valid = np.arange(STEPS) < lengths[:, None]
    x = (rng.uniform(-1, 1, (BATCH, STEPS)) * valid).astype(np.float32)
    targets = np.tanh(x.cumsum(axis=1) / 2) * valid
    return x[:, :, None], targets.astype(np.float32), lengths


def train_step(
    params: np.ndarray, x: np.ndarray, targets: np.ndarray, lengths: np.ndarray
) -> tuple[float, np.ndarray]:
    """The mean squared error of the first unit's output, and its gradient by params."""
    state = np.zeros((BATCH, LAYERS, UNITS), np.float32)
    inputs: dict[str, Any] = {"input": x, "input_h": state, "input_c": 0, "params": params}
    inputs["sequence_lengths"] = lengths
    attributes: dict[str, Any] = {"rnn_mode": "gru", "time_major": False}
    forward = tc.CudnnRNNV3(**inputs, **attributes)
    error = forward.output[:, :, 0] - targets  # both are zero past the end of a sequence
    gradient = np.zeros_like(forward.output)
    gradient[:, :, 0] = 2 * error / lengths.sum()
    backprop = tc.CudnnRNNBackpropV3(
        **inputs,
        **forward._asdict(),
        output_backprop=gradient,
        output_h_backprop=np.zeros_like(state),
        output_c_backprop=0,
        **attributes,
    )
    return float(np.square(error).sum() / lengths.sum()), backprop.params_backprop


def main(arguments: list[str]) -> int:
    """Train, report, and leave the weights as a state of torch's GRU in a file if one is named."""
    rng = np.random.default_rng(0)
    params = make_params(rng)
    average, square = np.zeros_like(params), np.zeros_like(params)
    for number in range(1, ROUNDS + 1):
        loss, gradient = train_step(params, *draw_batch(rng))
        average += 0.1 * (gradient - average)  # Adam
        square += 0.001 * (gradient**2 - square)
        step = average / (1 - 0.9**number) / (np.sqrt(square / (1 - 0.999**number)) + 1e-8)
        params -= np.float32(RATE) * step
        if number in (1, ROUNDS // 2, ROUNDS):
            print(f"round {number}: loss {loss:.5f}")

    config = RNNConfig("gru", INPUT_SIZE, UNITS, LAYERS)
    arrays = {"weights": params}
    state, there = weights.convert(arrays, config, source="tensorflow", target="torch")
    print(f"{params.size} elements of params are {', '.join(state)} of torch")
    for path in arguments:
        weights.write(path, "torch", there, state)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
