"""The map of a format as a table: the layer, direction, role and gate of every element."""

from __future__ import annotations

import importlib.util
from typing import NamedTuple

from ..core.config import RNNConfig
from .formats import format_named
from .notation import Place
from .parameters import DIRECTION_NAMES, ROLE_NAMES, Key

HEADER = (
    *("array", "first", "elements", "shape", "strides"),
    *("layer", "direction", "role", "gate", "kind"),
)

NO_LIMIT = 10_000  # columns of a terminal


class Entry(NamedTuple):
    """One parameter and its place."""

    key: Key
    place: Place


def entries(format: str, config: RNNConfig) -> list[Entry]:
    """Every parameter of an RNN in the order of its first element. Raises NotSupported."""
    kind = format_named(format)
    kind.check(config)
    shapes, places = kind.arrays.map(config)
    order = {name: index for index, name in enumerate(shapes)}
    found = [Entry(key, place) for key, place in places.items()]
    return sorted(found, key=lambda each: (order[each.place.array], each.place.parameter.offset))


def rows(format: str, config: RNNConfig) -> list[tuple[str, ...]]:
    """The table, one row per parameter: HEADER says what is in it. Counts are in elements."""
    table: list[tuple[str, ...]] = []
    for (layer, direction, role, gate, kind), (array, parameter) in entries(format, config):
        size = " x ".join(map(str, parameter.shape)), ", ".join(map(str, parameter.strides))
        numbers = str(parameter.offset), str(parameter.num_elements), *size
        where = str(layer), DIRECTION_NAMES[direction], ROLE_NAMES[role], gate, kind
        table.append((array, *numbers, *where))
    return table


def show(format: str, config: RNNConfig) -> None:
    """Print the table, with rich where it is installed."""
    table = rows(format, config)
    if importlib.util.find_spec("rich") is None:
        widths = [max(map(len, column)) for column in zip(HEADER, *table, strict=True)]
        for row in (HEADER, *table):
            print("  ".join(map(str.ljust, row, widths)).rstrip())
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    printed = Table(title=title(format, config), box=box.SIMPLE_HEAD)
    for name in HEADER:
        is_count = name in ("first", "elements")
        printed.add_column(name, justify="right" if is_count else "left", no_wrap=True)
    for row in table:
        printed.add_row(*row)
    # A narrow terminal breaks lines; cutting cells off would lose what they say.
    needed = Console(width=NO_LIMIT).measure(printed).maximum
    Console(width=max(needed, Console().width)).print(printed)


def title(format: str, config: RNNConfig) -> str:
    """The RNN in one line."""
    directions = "bidirectional" if config.num_directions == 2 else "unidirectional"
    sizes = f"input {config.input_size}, hidden {config.hidden_size}"
    if config.projection_size:
        sizes += f", projection {config.projection_size}"
    layers = f"{config.num_layers} layer{'s' * (config.num_layers > 1)}"
    return f"{format}: {config.cell}, {sizes}, {layers}, {directions}, bias {config.bias}"
