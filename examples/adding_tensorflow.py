"""The adding problem in the words of TensorFlow's CudnnRNN operations: arrays in, arrays out.

python examples/adding_tensorflow.py [STEPS]
"""

from __future__ import annotations

from typing import Any

import adding
import numpy as np
from adding import BATCH, HIDDEN, Problems

from miopy import tensorflow_cudnn as tf


class Network:
    """No descriptors and no workspace; what backward needs is among the outputs."""

    def __init__(self) -> None:
        self.weights = adding.initial_weights("tensorflow")

    def forward(self, problems: Problems) -> np.ndarray:
        zeros = np.zeros((1, BATCH, HIDDEN), np.float32)
        self.inputs: dict[str, Any] = {"input": problems.x, "input_h": zeros, "input_c": zeros}
        self.inputs |= {"params": self.weights, "sequence_lengths": problems.lengths}
        self.outputs = tf.CudnnRNNV3(**self.inputs)
        return self.outputs.output_h[0]

    def backward(self, dh: np.ndarray) -> np.ndarray:
        gradients = tf.CudnnRNNBackpropV3(
            **self.inputs,
            **self.outputs._asdict(),
            output_backprop=np.zeros_like(self.outputs.output),
            output_h_backprop=dh[np.newaxis],
            output_c_backprop=np.zeros_like(self.outputs.output_c),
        )
        return gradients.params_backprop


if __name__ == "__main__":
    adding.main(Network())
