"""Where a format keeps each parameter: in one flat buffer, or in several named arrays.

A flat buffer is a dialect's `Layout`. Named arrays are listed as `Block`s: a template of the name
and the axes inside, slowest first, those of one dimension in brackets:

    Block("weight_ih_l{layer}{direction}", MATRIX, (INPUT,), "(gate out) in")

A dimension with a question mark is there only where it is longer than 1. A coordinate that is not
an axis must be in the name. Either way the answer is a `Map`; reading, writing and drawing a format
need nothing else of it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..core.config import BIASES, RNNConfig
from ..core.layout import Layout, Parameter
from .parameters import BIAS, DIRECTION_NAMES, ROLE_NAMES, VECTOR, Array, Key, keys, shape_of

BUFFER = "weights"  # the one array of a flat format


class Place(NamedTuple):
    """A parameter inside a C-contiguous array, in elements."""

    array: str
    parameter: Parameter

    def view(self, arrays: Mapping[str, Array]) -> Array:
        """The part of its array, writable where that is."""
        array = arrays[self.array]
        offset, shape, strides = self.parameter
        steps = tuple(stride * array.itemsize for stride in strides)
        flat = array.reshape(-1)[offset:]
        return np.lib.stride_tricks.as_strided(flat, shape, steps)


class Map(NamedTuple):
    """The arrays of one RNN in one format: every element belongs to exactly one parameter."""

    shapes: dict[str, tuple[int, ...]]
    places: dict[Key, Place]


@dataclass(frozen=True)
class Flat:
    """One buffer, laid out as a dialect says."""

    layout: Layout

    @lru_cache(maxsize=64)  # noqa: B019 - formats are constants
    def map(self, config: RNNConfig) -> Map:
        """Where everything is."""
        order = dict(zip(config.record.gates, self.layout.order(config), strict=True))
        places = {}
        for key in keys(config):
            find = self.layout.bias if key.kind == BIAS else self.layout.matrix
            gate = order[key.gate] if key.gate else 0
            parameter = find(config, key.layer, key.direction, key.role, gate)
            assert parameter is not None, key
            places[key] = Place(BUFFER, parameter)
        return Map({BUFFER: (self.layout.size(config),)}, places)


@dataclass(frozen=True)
class Block:
    """Arrays of one kind.

    name    template with {layer}, {direction}, {role}, {gate} and {number}, which counts the arrays
            of this kind
    kind    MATRIX, BIAS or VECTOR
    roles   whose parameters are in it
    axes    of layer, direction, role, gate, bias (which counts those of all roles), out and in
    cells   which cells have it; empty means all
    """

    name: str
    kind: str
    roles: tuple[int, ...]
    axes: str
    cells: tuple[str, ...] = ()

    @property
    def dimensions(self) -> list[list[str]]:
        """The axes of each dimension: "(gate out) in" gives [[gate, out], [in]]."""
        words = re.findall(r"\((.*?)\)|([\w?]+)", self.axes)
        return [(several or single).split() for several, single in words]

    def place(
        self, config: RNNConfig, key: Key, gates: list[str]
    ) -> tuple[tuple[int, ...], Parameter]:
        """The shape of the array, and where a parameter is in it."""
        shape = shape_of(config, key)
        positions = {"layer": key.layer, "direction": key.direction, "role": key.role}
        lengths = {"layer": config.num_layers, "direction": config.num_directions}
        # Of roles only biases have an axis, and only where there are both.
        lengths["role"] = len(BIASES["both"])
        lengths |= dict(zip(("out", "in"), shape, strict=False))
        if key.gate:
            names = list(config.record.peepholes) if key.kind == VECTOR else gates
            positions["gate"], lengths["gate"] = names.index(key.gate), len(names)
        if "bias" in self.axes.split():
            neighbours = [each for each in keys(config, gates) if each[:2] == key[:2]]
            biases = [each for each in neighbours if each.kind == BIAS]
            positions["bias"], lengths["bias"] = biases.index(key), len(biases)
        strides, step = {}, 1
        for axis in reversed(re.findall(r"\w+", self.axes)):
            strides[axis], step = step, step * lengths[axis]
        offset = sum(at * strides.get(axis, 0) for axis, at in positions.items())
        inner = tuple(strides[axis] for axis in ("out", "in")[: len(shape)])
        outer = tuple(
            math.prod(lengths[axis.rstrip("?")] for axis in axes)
            for axes in self.dimensions
            if not (axes[0].endswith("?") and lengths[axes[0].rstrip("?")] == 1)
        )
        return outer, Parameter(offset, shape, inner)


@dataclass(frozen=True, eq=False)
class Named:
    """Several arrays, told apart by their names.

    gates        cell -> its gates in this format's order; absent means the cell's own order
    directions   the words for {direction}
    """

    blocks: tuple[Block, ...]
    gates: Mapping[str, str] = field(default_factory=dict)
    directions: tuple[str, str] = (DIRECTION_NAMES[0], DIRECTION_NAMES[1])

    @lru_cache(maxsize=64)  # noqa: B019 - formats are constants
    def map(self, config: RNNConfig) -> Map:
        """Where everything is."""
        found = Map({}, {})
        for key, name, shape, parameter in self.entries(config):
            found.shapes[name] = shape
            found.places[key] = Place(name, parameter)
        return found

    def entries(self, config: RNNConfig) -> Iterator[tuple[Key, str, tuple[int, ...], Parameter]]:
        """Each parameter with the name and shape of its array, and its place there."""
        gates = self.gates.get(config.cell, " ".join(config.record.gates)).split()
        numbers: Counter[str] = Counter()
        for key in keys(config, gates):
            block = self._block(config.cell, key)
            name = block.name.format(
                layer=key.layer,
                direction=self.directions[key.direction],
                role=ROLE_NAMES[key.role],
                gate=key.gate,
                number=numbers[block.name],
            )
            numbers[block.name] += 1
            yield key, name, *block.place(config, key, gates)

    def _block(self, cell: str, key: Key) -> Block:
        (block,) = (
            block
            for block in self.blocks
            if block.kind == key.kind
            and key.role in block.roles
            and (not block.cells or cell in block.cells)
        )
        return block
