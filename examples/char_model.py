"""Characters, minibatches of them, and a model that predicts the next one.

The recurrent layers are MIOpen's; embedding and softmax are NumPy.
"""

from __future__ import annotations

import zlib
from pydoc_data.topics import topics
from typing import NamedTuple

import numpy as np
from recurrent import Recurrent, States

LAYERS = 2
EMBEDDING = 64

Arrays = dict[str, np.ndarray]


class Corpus(NamedTuple):
    characters: str
    training: np.ndarray
    held_out: np.ndarray

    @property
    def checksum(self) -> int:
        """Tells the documentation of one Python version from that of another."""
        return zlib.crc32(self.held_out.tobytes(), zlib.crc32(self.training.tobytes()))


def load_corpus() -> Corpus:
    """Every paragraph of Python's help as indices into `characters`; the last 5 % are held out.

    Topics repeat each other: each paragraph is there once, so that none is trained and held out.
    """
    paragraphs = (part for name in sorted(topics) for part in topics[name].split("\n\n"))
    text = "\n\n".join(dict.fromkeys(paragraphs))
    characters = "".join(sorted(set(text)))
    index = {character: i for i, character in enumerate(characters)}
    ids = np.array([index[character] for character in text])
    end = len(ids) * 95 // 100
    return Corpus(characters, ids[:end], ids[end:])


class Minibatch(NamedTuple):
    """Pieces of text, longest first, as packed rows: step by step, every piece still running."""

    inputs: np.ndarray  # (rows,) characters
    targets: np.ndarray  # (rows,) the character after each
    batch_sizes: list[int]  # pieces still running at each step


def pack(text: np.ndarray, starts: np.ndarray, lengths: np.ndarray, steps: range) -> Minibatch:
    """Some steps of the pieces of text at `starts`; lengths must descend."""
    step = np.array(steps)[:, np.newaxis]
    running = step < lengths  # (steps, pieces)
    positions = (starts + step)[running]
    return Minibatch(text[positions], text[positions + 1], running.sum(axis=1).tolist())


def draw_minibatch(
    rng: np.random.Generator, text: np.ndarray, batch: int, length: int
) -> Minibatch:
    """`batch` random pieces of half to one and a half times `length` characters."""
    lengths = np.sort(rng.integers((length + 1) // 2, length * 3 // 2 + 1, size=batch))[::-1]
    starts = rng.integers(0, len(text) - lengths[0], size=batch)
    return pack(text, starts, lengths, range(lengths[0]))


def cross_entropy(logits: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nats of each target, and the gradient of their sum with respect to the logits."""
    rows = np.arange(len(targets))
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    totals = exponentials.sum(axis=1, keepdims=True)
    nats = np.log(totals[:, 0]) - shifted[rows, targets]
    gradient = exponentials / totals
    gradient[rows, targets] -= 1
    return nats, gradient


class Model:
    """Embedding, recurrent layers and softmax over characters."""

    def __init__(self, vocabulary: int, mode: str, hidden: int, dropout: float):
        self.recurrent = Recurrent(mode, EMBEDDING, hidden, LAYERS, dropout)
        self.parameters: Arrays = {
            "embedding": np.zeros((vocabulary, EMBEDDING), np.float32),
            "recurrent": self.recurrent.weights,
            "output": np.zeros((hidden, vocabulary), np.float32),
            "bias": np.zeros(vocabulary, np.float32),
        }

    def initialise(self, rng: np.random.Generator) -> None:
        self.recurrent.initialise(rng)
        for name, scale in (("embedding", 1), ("output", self.recurrent.hidden_size**-0.5)):
            parameter = self.parameters[name]
            parameter[:] = scale * rng.standard_normal(parameter.shape)

    def logits(self, y: np.ndarray) -> np.ndarray:
        return y @ self.parameters["output"] + self.parameters["bias"]

    def loss_and_gradients(self, minibatch: Minibatch, dropout_seed: int) -> tuple[float, Arrays]:
        """Mean nats per character of a minibatch, and the gradient of every parameter."""
        inputs, targets, batch_sizes = minibatch
        self.recurrent.seed_dropout(dropout_seed)
        x = self.parameters["embedding"][inputs]
        y = self.recurrent.forward(batch_sizes, x)
        nats, dlogits = cross_entropy(self.logits(y), targets)
        dlogits /= len(targets)
        dx, dw = self.recurrent.backward(batch_sizes, x, y, dlogits @ self.parameters["output"].T)
        dembedding = np.zeros_like(self.parameters["embedding"])
        np.add.at(dembedding, inputs, dx)
        return float(nats.mean(dtype=np.float64)), {
            "embedding": dembedding,
            "recurrent": dw,
            "output": y.T @ dlogits,
            "bias": dlogits.sum(axis=0),
        }

    def read(
        self, batch_sizes: list[int], inputs: np.ndarray, states: States
    ) -> tuple[np.ndarray, States]:
        """Logits of the character after each input, and the states behind the last."""
        x = self.parameters["embedding"][inputs]
        y, states = self.recurrent.infer(batch_sizes, x, states)
        return self.logits(y), states

    def evaluate(self, text: np.ndarray, readers: int = 16, chunk: int = 128) -> float:
        """Mean nats per character of one long text.

        Readers share the text; each carries its state from chunk to chunk through its own part.
        """
        lengths = np.array([len(part) for part in np.array_split(text[:-1], readers)])
        starts = np.cumsum(lengths) - lengths
        states, total = self.recurrent.zero_states(readers), 0.0
        for start in range(0, lengths[0], chunk):
            steps = range(start, min(start + chunk, lengths[0]))
            inputs, targets, batch_sizes = pack(text, starts, lengths, steps)
            h, c = (np.ascontiguousarray(state[:, : batch_sizes[0]]) for state in states)
            logits, states = self.read(batch_sizes, inputs, (h, c))
            nats, _ = cross_entropy(logits, targets)
            total += float(nats.sum(dtype=np.float64))
        return total / (len(text) - 1)

    def sample(self, rng: np.random.Generator, prompt: list[int], length: int) -> list[int]:
        """Characters that continue the prompt, drawn at a temperature that avoids rare ones."""
        states, drawn = self.recurrent.zero_states(1), list(prompt)
        unread = prompt
        for _ in range(length):
            logits, states = self.read([1] * len(unread), np.array(unread), states)
            scaled = logits[-1].astype(np.float64) / 0.7
            weights = np.exp(scaled - scaled.max())
            unread = [int(rng.choice(len(weights), p=weights / weights.sum()))]
            drawn += unread
        return drawn
