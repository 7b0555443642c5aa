"""Random states of dropout between layers.

TensorFlow keeps them, and goes on with them at each call of an op of the same attributes and
shapes. Here the n-th such call of a process starts from a seed of its own, so that its masks differ
from those of the calls before; the first starts from the seed that the attributes give. With
TF_CUDNN_RESET_RND_GEN_STATE=1, which is read at every call, all do.
"""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Hashable
from typing import NamedTuple

from .attributes import Attributes
from .entry import InvalidArgumentError
from .memory import CallMemory
from .model import Model

RESET = "TF_CUDNN_RESET_RND_GEN_STATE"
_STEP = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio: seeds far from one another
_calls: defaultdict[Hashable, itertools.count[int]] = defaultdict(itertools.count)


class DropoutStates(NamedTuple):
    """As calls.dropout describes it; backward passes need the rate alone."""

    dropout: float
    states: int | None = None
    states_nbytes: int = 0
    advances: bool = True  # from layer to layer


def draw_states(memory: CallMemory, attributes: Attributes, model: Model) -> DropoutStates:
    """The states of one training call with dropout, in its scratch."""
    config, device = model.config, memory.device
    nbytes = device.dropout_states_nbytes(sum(model.lengths) * config.output_size)
    address = memory.scratch(nbytes)
    seed = next_seed(attributes.seed, config, attributes.rate, model.steps)
    device.initialize_dropout_states(address, nbytes, seed)
    return DropoutStates(attributes.rate, address, nbytes)


def next_seed(seed: int, *call: Hashable) -> int:
    """The seed of one more call like `call`."""
    if _resets():
        return seed
    same = seed, *call
    return (seed + next(_calls[same]) * _STEP) % 2**64


def _resets() -> bool:
    text = os.environ.get(RESET, "0").lower()
    if text not in ("0", "false", "1", "true"):
        message = f"Failed to parse the env-var ${{{RESET}}} into bool: {text}"
        raise InvalidArgumentError(RESET, message, text)
    return text in ("1", "true")
