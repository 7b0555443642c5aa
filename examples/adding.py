"""The adding problem, for one LSTM in four vocabularies: adding_miopen.py, adding_cudnn7.py,
adding_cudnn8.py and adding_tensorflow.py.

A sequence holds numbers, two of which are marked; the answer is their sum. Guessing the mean of all
answers leaves a squared error of 1/6, so a network must find the marks and remember what it saw.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from miopy import weights

FEATURES, HIDDEN = 2, 32  # of a step: the number, and whether it is marked
BATCH, SHORTEST, LONGEST = 64, 4, 12
STEPS, REPORT_EVERY = 240, 20
GUESS = 1 / 6


class Problems(NamedTuple):
    """A batch, longest first, because the APIs with a descriptor per step want it so."""

    x: np.ndarray  # (LONGEST, BATCH, FEATURES), padded with zeros
    lengths: np.ndarray  # (BATCH,) int32
    answers: np.ndarray  # (BATCH,)


class Network(Protocol):
    """An LSTM of one layer with FEATURES inputs and HIDDEN units."""

    weights: np.ndarray

    def forward(self, problems: Problems) -> np.ndarray:
        """The states h after each sequence's last step, (BATCH, HIDDEN)."""

    def backward(self, dh: np.ndarray) -> np.ndarray:
        """The gradient of the weights of the last forward pass, from that of its result."""


def initial_weights(target: str) -> np.ndarray:
    """The same LSTM for every vocabulary: drawn as torch does it, in the target's layout."""
    rng, bound = np.random.default_rng(0), HIDDEN**-0.5
    shapes = {"weight_ih_l0": (4 * HIDDEN, FEATURES), "weight_hh_l0": (4 * HIDDEN, HIDDEN)}
    shapes |= {"bias_ih_l0": (4 * HIDDEN,), "bias_hh_l0": (4 * HIDDEN,)}
    state = {
        name: rng.uniform(-bound, bound, shape).astype(np.float32) for name, shape in shapes.items()
    }
    arrays, _ = weights.convert(state, source="torch", target=target)
    return arrays["weights"]


def draw_problems(rng: np.random.Generator) -> Problems:
    lengths = np.sort(rng.integers(SHORTEST, LONGEST + 1, BATCH))[::-1]
    x = np.zeros((LONGEST, BATCH, FEATURES), np.float32)
    answers = np.zeros(BATCH, np.float32)
    for i, length in enumerate(lengths):
        numbers, marked = rng.uniform(0, 1, length), rng.choice(length, 2, replace=False)
        x[:length, i, 0], x[marked, i, 1] = numbers, 1
        answers[i] = numbers[marked].sum()
    return Problems(x, lengths.astype(np.int32), answers)


class Adam:
    """Kingma and Ba's rule for one array."""

    def __init__(self, parameter: np.ndarray, rate: float = 0.01) -> None:
        self.parameter, self.rate, self.step = parameter, rate, 0
        self.first, self.second = np.zeros_like(parameter), np.zeros_like(parameter)

    def update(self, gradient: np.ndarray) -> None:
        self.step += 1
        self.first += 0.1 * (gradient - self.first)
        self.second += 0.001 * (gradient * gradient - self.second)
        first, second = self.first / (1 - 0.9**self.step), self.second / (1 - 0.999**self.step)
        self.parameter -= self.rate * first / (np.sqrt(second) + 1e-8)


def train(network: Network, steps: int, report: Callable[[int, float], None]) -> None:
    """Train the network and a linear output; `report` gets the mean loss of REPORT_EVERY steps."""
    rng = np.random.default_rng(1)
    output = np.zeros(HIDDEN + 1, np.float32)
    output[-1] = 1  # its bias starts at the mean answer
    rules, losses = (Adam(network.weights), Adam(output)), []
    for step in range(1, steps + 1):
        problems = draw_problems(rng)
        h = network.forward(problems)
        errors = h @ output[:-1] + output[-1] - problems.answers
        losses.append(float(np.mean(errors**2)))
        derror = 2 * errors / BATCH
        dw = network.backward(np.outer(derror, output[:-1]))
        rules[0].update(dw)
        rules[1].update(np.append(derror @ h, derror.sum()))
        if step % REPORT_EVERY == 0:
            report(step, float(np.mean(losses[-REPORT_EVERY:])))


def print_progress(step: int, loss: float) -> None:
    bar = "#" * round(40 * min(loss / GUESS, 1))
    print(f"step {step:4}  loss {loss:.6f}  {bar}", flush=True)


def main(network: Network) -> None:
    """Train and show how it goes; the command's argument is the number of steps."""
    print(f"squared error of guessing the mean: {GUESS:.6f}")
    train(network, int(sys.argv[1]) if sys.argv[1:] else STEPS, print_progress)
