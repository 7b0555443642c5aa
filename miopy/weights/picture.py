"""The map of a format as a picture, PNG or SVG.

A flat buffer is a band of elements from left to right, matrices above and biases below, with one
track for every coordinate: where a track changes, the element after belongs to another layer,
direction, role or gate. The order in which tracks change is the layout's nesting. Named arrays are
drawn one by one, rows downwards, in the colours of the gates.
"""

from __future__ import annotations

import math
from itertools import groupby
from pathlib import Path
from typing import Any

from ..core.config import INPUT, PEEPHOLE, PROJECTION, RECURRENT, RNNConfig
from ..errors import BadParam, NotSupported
from .description import Entry, entries, title
from .files import check_folder
from .formats import format_named
from .notation import Flat
from .parameters import BIAS, DIRECTION_NAMES, MATRIX, ROLE_NAMES, Key

SUFFIXES = (".png", ".svg")
TRACKS = ("layer", "direction", "role", "gate")
# Told apart in every kind of colour blindness (Okabe and Ito); text on them is black.
GATE_COLORS = ("#56b4e9", "#e69f00", "#009e73", "#f0e442")
SHORT_ROLES = {INPUT: "in", RECURRENT: "rec", PROJECTION: "proj", PEEPHOLE: "peep"}
SHORT_DIRECTIONS = ("fwd", "rev")
PROJECTION_COLOR = "#cc79a7"
TRACK_COLORS = ("#e8e8e8", "#c4c4c4")
WIDTH = 12.0  # inches
PANEL_HEIGHT = 1.7  # inches
LETTER = 0.07  # inches that a letter takes
MAX_ARRAYS = 64


def _check_path(path: str | Path) -> None:
    """Raises BadParam for one that no picture can have."""
    if Path(path).suffix not in SUFFIXES:
        raise BadParam("path", f"must end in {' or '.join(SUFFIXES)}", str(path))
    check_folder(path)


def draw(path: str | Path, format: str, config: RNNConfig) -> None:
    """Write the picture, of what has elements. Needs matplotlib.

    Raises BadParam for another suffix, no folder or nothing to draw, NotSupported if the format
    cannot hold such an RNN or has more than MAX_ARRAYS arrays.
    """
    _check_path(path)
    for name in ("num_layers", "hidden_size"):
        if getattr(config, name) == 0:
            raise BadParam(name, "must not be 0 for a picture, which would be empty", 0)
    found = [each for each in entries(format, config) if each.place.parameter.num_elements]
    if isinstance(format_named(format).arrays, Flat):
        figure = _draw_flat(found, config)
    else:
        figure = _draw_arrays(found, format, config)
    figure.suptitle(title(format, config), fontsize=11)
    figure.savefig(path, dpi=150)


def _figure(height: float, rows: int, columns: int, **options: Any) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.ravel())


def _draw_flat(found: list[Entry], config: RNNConfig) -> Any:
    """One panel of matrices, one of biases."""
    panels = [
        (kind, [entry for entry in found if entry.key.kind == kind]) for kind in (MATRIX, BIAS)
    ]
    panels = [(kind, members) for kind, members in panels if members]
    figure, axes = _figure(0.6 + 1.9 * len(panels), len(panels), 1)
    for axis, (kind, members) in zip(axes, panels, strict=True):
        for height, track in enumerate(reversed(TRACKS)):
            _draw_track(axis, height, track, members, config)
        axis.set_yticks(range(len(TRACKS)), reversed(TRACKS))
        axis.set_ylim(-0.5, len(TRACKS) - 0.5)
        axis.set_xlim(_first(members[0]), _end(members[-1]))
        axis.set_xlabel("element")
        axis.set_title({MATRIX: "matrices", BIAS: "biases"}[kind], loc="left", fontsize=10)
        _plain(axis)
    return figure


def _draw_track(
    axis: Any, height: int, track: str, members: list[Entry], config: RNNConfig
) -> None:
    """Rectangles of the neighbours that share a coordinate and all coarser ones."""
    left, right = _first(members[0]), _end(members[-1])
    runs = groupby(members, lambda entry: _label(entry.key, track))
    for number, (label, run) in enumerate(runs):
        shared = list(run)
        first, end = _first(shared[0]), _end(shared[-1])
        color = TRACK_COLORS[number % 2]
        if track == "gate":
            color = _gate_color(shared[0].key, config)
        _rectangle(axis, first, height - 0.45, end - first, 0.9, color)
        room = (end - first) / (right - left) * (WIDTH - 1.2)
        _write(axis, first + (end - first) / 2, height, label, room)


def _first(entry: Entry) -> int:
    return entry.place.parameter.offset


def _end(entry: Entry) -> int:
    return entry.place.parameter.offset + entry.place.parameter.num_elements


def _label(key: Key, track: str) -> str:
    return {
        "layer": f"layer {key.layer}",
        "direction": DIRECTION_NAMES[key.direction],
        "role": ROLE_NAMES[key.role],
        "gate": key.gate or "P",
    }[track]


def _gate_color(key: Key, config: RNNConfig) -> str:
    if key.role == PROJECTION:
        return PROJECTION_COLOR
    return GATE_COLORS[config.record.gates.index(key.gate)]


def _draw_arrays(found: list[Entry], format: str, config: RNNConfig) -> Any:
    """One panel per array, as a matrix of rows and columns."""
    everything = format_named(format).arrays.map(config).shapes
    shapes = {name: shape for name, shape in everything.items() if math.prod(shape)}
    if len(shapes) > MAX_ARRAYS:
        rule = f"must have at most {MAX_ARRAYS} arrays to be drawn"
        raise NotSupported("format", rule, f"{format} with {len(shapes)}")
    together = {place.array for key, place in found if key[:2] == found[0].key[:2]}
    columns = len(together) if len(together) < 6 else 4
    lines = math.ceil(len(shapes) / columns)
    figure, axes = _figure(0.6 + (PANEL_HEIGHT + 0.5) * lines, lines, columns)
    for axis, (name, shape) in zip(axes, shapes.items(), strict=False):
        members = [entry for entry in found if entry.place.array == name]
        width = max(shape[-1], *members[0].place.parameter.strides)
        height = math.prod(shape) // width
        for key, place in members:
            x, y, across, down = _box(place.parameter.offset, *place.parameter[1:], width)
            _rectangle(axis, x, y, across, down, _gate_color(key, config))
            rooms = across / width * (WIDTH - 2) / columns, down / height * PANEL_HEIGHT
            label = _box_label(key, [member.key for member in members])
            turned = len(label) * LETTER > rooms[0] and len(label) * LETTER < rooms[1]
            _write(axis, x + across / 2, y + down / 2, label, rooms[turned], turned=turned)
        axis.set_xlim(0, width)
        axis.set_ylim(height, 0)
        axis.locator_params(integer=True, nbins=5)
        if len(shape) == 1:
            axis.set_yticks([])
        axis.set_title(f"{name}  {' x '.join(map(str, shape))}", fontsize=8)
        _plain(axis)
    for axis in axes[len(shapes) :]:
        axis.remove()
    return figure


def _box(
    offset: int, shape: tuple[int, ...], strides: tuple[int, ...], width: int
) -> tuple[int, int, int, int]:
    """Left, top, width and height of a parameter in an array whose rows have `width` elements."""
    last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    top, left = divmod(offset, width)
    bottom, right = divmod(last, width)
    return left, top, right - left + 1, bottom - top + 1


def _box_label(key: Key, neighbours: list[Key]) -> str:
    """The gate, and what else tells this parameter from the others in its array."""
    words = [key.gate or "P"]
    if len({each.role for each in neighbours}) > 1:
        words.append(SHORT_ROLES[key.role])
    if len({each.direction for each in neighbours}) > 1:
        words.append(SHORT_DIRECTIONS[key.direction])
    return ", ".join(words)


def _rectangle(axis: Any, x: float, y: float, width: float, height: float, color: str) -> None:
    from matplotlib.patches import Rectangle

    axis.add_patch(Rectangle((x, y), width, height, facecolor=color, edgecolor="white", lw=0.6))


def _write(axis: Any, x: float, y: float, text: str, room: float, turned: bool = False) -> None:
    """The text, or its first word or letter, or nothing, as there is room in inches."""
    for shorter in (text, text.split(",")[0], text[0] if text.isalpha() else text.split()[-1]):
        if len(shorter) * LETTER <= room:
            style = {"ha": "center", "va": "center", "fontsize": 8, "clip_on": True}
            axis.text(x, y, shorter, rotation=90 * turned, **style)
            return


def _plain(axis: Any) -> None:
    axis.tick_params(length=0, labelsize=8)
    for side in ("top", "right", "left", "bottom"):
        axis.spines[side].set_visible(False)
