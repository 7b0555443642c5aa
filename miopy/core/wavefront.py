"""Layers of a stack as a wavefront: while a layer runs a chunk of steps, the one above runs the
chunk before, in one launch for all layers (kernels/stepped/chunks.c). That is worth it where a step
of several layers, each on its share of the device, takes not much longer than a step of one, and
there are steps enough to repay the launches.

Pure functions of what `algorithm.choose` depends on; times are estimates in cycles. Both directions
of a layer read all that the layer below makes: only stacks of one direction run like this.
"""

from __future__ import annotations

import dataclasses
import math
from functools import lru_cache
from typing import NamedTuple

from ..errors import NotSupported
from . import algorithm
from .algorithm import Choice, DeviceProperties
from .config import RNNConfig
from .grid import INGESTED_PER_CYCLE
from .settings import read_flag

MOST_LAYERS = 4  # MOST_RUNS of kernels/step.h
LAUNCH_CYCLES = 4000
WORTH = 0.9  # of the time of a layer at a time: estimates are not exact
VARIABLE = "MIOPY_RNN_WAVEFRONT"


class Stack(NamedTuple):
    """Layers in one pass, and where they run: as `algorithm.choose` is given them.

    allowed   whether several layers may run at a time
    """

    device: DeviceProperties
    config: RNNConfig
    steps: int
    batch: int
    backward: bool
    asked: str
    allowed: bool = True


def stack_of(
    device: DeviceProperties, config: RNNConfig, batch_sizes: tuple[int, ...], *, backward: bool
) -> Stack:
    """What runs so many sequences in each step, with what the environment asks for. Raises BadParam
    for what it may not."""
    allowed = read_flag(VARIABLE, default=True)
    shape = len(batch_sizes), max(batch_sizes, default=0)
    return Stack(device, config, *shape, backward, algorithm.asked(), allowed)


@lru_cache(maxsize=1024)
def choose(stack: Stack, layers: int = 1) -> Choice | None:
    """What runs so many layers, more than one of one direction, all in the same launches; None if
    their blocks cannot all run at a time. For a layer by itself as `algorithm.choose`."""
    alone = _choose(stack, stack.device)
    if layers == 1:
        return alone
    multiprocessors = stack.device.multiprocessors // layers
    if not multiprocessors:
        return None
    share = dataclasses.replace(stack.device, multiprocessors=multiprocessors)
    try:
        found = _choose(stack, share)
    except NotSupported:
        return None
    if not found.is_persistent or found.algorithm != alone.algorithm:
        return None
    if found.slices and found.slices.products.is_large:
        return None
    if found.residency is not None and stack.batch > found.residency.rows * multiprocessors:
        return None
    grid = found.grid and dataclasses.replace(found.grid, runs=layers)
    cluster = found.cluster and found.cluster.together(layers)
    found = dataclasses.replace(found, grid=grid, cluster=cluster, runs=layers)
    chunks = (layers - 1) * stack.steps * _step(found) / _launch(found, stack.config, layers)
    chunk_steps = math.ceil(stack.steps / max(1, min(round(math.sqrt(chunks)), stack.steps)))
    return dataclasses.replace(found, chunk_steps=chunk_steps)


def _choose(stack: Stack, device: DeviceProperties) -> Choice:
    shape = stack.config, stack.steps, stack.batch, stack.config.num_directions
    return algorithm.choose(device, *shape, backward=stack.backward, asked=stack.asked)


def _step(choice: Choice) -> float:
    """Of one step of all layers that run at a time."""
    return choice.cycles * choice.runs


def _launch(choice: Choice, config: RNNConfig, layers: int) -> float:
    """Of what a chunk takes besides its steps: products and what else each layer launches, and
    loading the matrix."""
    slices = choice.slices
    of_layer = 1 + (slices is not None) + (config.dropout > 0)
    nbytes = choice.scratch_nbytes if slices is None else slices.slices_nbytes // slices.parts
    return LAUNCH_CYCLES * (1 + layers * of_layer) + nbytes / INGESTED_PER_CYCLE


def _cycles(stack: Stack, layers: int) -> float:
    """Of all layers, so many at a time; infinite if they cannot be."""
    bands, rest = divmod(stack.config.num_layers, layers)
    total = 0.0
    for number, together in ((bands, layers), (1, rest)):
        choice = choose(stack, together) if together else None
        if choice is not None:
            chunk_steps = choice.chunk_steps or stack.steps
            launches = math.ceil(stack.steps / chunk_steps) + together - 1
            chunk = chunk_steps * _step(choice) + _launch(choice, stack.config, together)
            total += number * launches * chunk
        elif together:
            return math.inf
    return total


def _candidates(stack: Stack) -> list[float]:
    """Cycles of all layers, with one at a time, two and more; of one alone where there can be no
    wavefront."""
    config, alone = stack.config, choose(stack)
    if config.num_directions > 1 or not stack.allowed or alone is None:
        return [0.0]
    if not alone.is_persistent:
        return [0.0]
    most = min(config.num_layers, MOST_LAYERS)
    return [_cycles(stack, layers) for layers in range(1, most + 1)]


@lru_cache(maxsize=1024)
def layers_at_a_time(stack: Stack) -> int:
    """How many layers run at a time, but for what is left of the stack; 1: no wavefront."""
    alone, *others = _candidates(stack)
    if not others or min(others) > WORTH * alone:
        return 1
    return 2 + others.index(min(others))


def explain(stack: Stack) -> str:
    """What runs the steps of the layers, and why."""
    layers = layers_at_a_time(stack)
    choice = choose(stack, layers)
    assert choice is not None
    said = f"{choice.algorithm}: {choice.reason}"
    if stack.config.num_layers == 1 or not choice.is_persistent:
        return said
    if layers > 1:
        return f"{said}; {layers} layers at a time, in chunks of {choice.chunk_steps} steps"
    if stack.config.num_directions > 1:
        return f"{said}; a layer at a time, for both directions read all of the one below"
    if not stack.allowed:
        return f"{said}; a layer at a time, for {VARIABLE} says so"
    alone, *others = _candidates(stack)
    if min(others) == math.inf:
        return f"{said}; a layer at a time, for blocks of two cannot run at a time"
    times = f"{min(others) / alone:.2f} times as long, which is worth it up to {WORTH}"
    return f"{said}; a layer at a time, for more would take {times}"
