"""Which RNN some arrays belong to, told from their names and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby, product
from typing import Any

from ..core.cells import CELLS
from ..core.config import RNNConfig
from ..errors import BadParam
from .formats import DIRECTIONS, Format, format_named
from .notation import Named
from .parameters import as_arrays

Shapes = Mapping[str, tuple[int, ...]]

# Fields of RNNConfig on which the names of arrays depend, and those that are lengths in them.
OUTLINE = ("cell", "num_layers", "direction", "bias", "skip_input")
SIZES = ("input_size", "hidden_size", "projection_size")
MAX_NAMES = 8


def recognise(format: str, arrays: Mapping[str, Any], **known: Any) -> RNNConfig:
    """The one RNN whose arrays have these names and shapes, given some fields of RNNConfig.

    Raises BadParam if there is none or more than one; nothing but `known` tells relu from tanh, or
    the sizes behind a flat buffer.
    """
    kind = format_named(format)
    found, dtype = as_arrays(arrays)
    if not isinstance(kind.arrays, Named):
        missing = [name for name in ("cell", "input_size", "hidden_size") if name not in known]
        if missing:
            raise BadParam(missing[0], "must be given, a flat buffer does not tell it")
        return RNNConfig(**{"dtype": dtype, **known})
    kind.check_names(found)
    shapes = {name: array.shape for name, array in found.items()}
    named = kind.arrays
    candidates = [
        config
        for outline in _outlines(kind, shapes, known)
        if _names(named, outline, shapes) == shapes.keys()
        for config in _sized(outline, shapes, known)
        if all(shapes[name] == shape for _, name, shape, _ in named.entries(config))
    ]
    if not candidates:
        listed = ", ".join(f"{name} {shape}" for name, shape in [*shapes.items()][:4])
        reason = _misfit(named, _outlines(kind, shapes, known), shapes) or kind.hint
        rule = f"must be those of one RNN as {kind.title} has them{reason}"
        raise BadParam("arrays", rule, listed)
    if len(candidates) > 1:
        cells = sorted({config.cell for config in candidates})
        raise BadParam("cell", f"must be given, these could be arrays of {' or '.join(cells)}")
    return replace(candidates[0], **{"dtype": dtype, **known})


def _outlines(kind: Format, shapes: Shapes, known: Mapping[str, Any]) -> Iterator[RNNConfig]:
    """Every RNN, of sizes that do not matter, that may have these arrays; layers vary fastest."""
    # Layers have arrays of their own, or are the first dimension.
    firsts = {shape[0] for shape in shapes.values() if shape}
    counts = sorted(firsts) if kind.joined else range(1, len(shapes) + 1)
    cells = [cell for cell in kind.cells if known.get("cell", cell) == cell]
    for cell, direction, projected in product(cells, DIRECTIONS, (0, 1)):
        if projected and not (kind.projection and CELLS[cell].has_cell_state):
            continue
        if "projection_size" in known and bool(known["projection_size"]) != bool(projected):
            continue
        for bias, layers in product(kind.biases_of(cell), counts):
            skip = known.get("skip_input", False)
            outline = RNNConfig(
                *(cell, 2, 2, layers, direction, bias, skip), projection_size=projected
            )
            if all(known.get(name, ours) == ours for name, ours in _fields(outline)):
                yield outline


def _fields(outline: RNNConfig) -> Iterator[tuple[str, Any]]:
    for name in OUTLINE:
        yield name, getattr(outline, name)


def _names(named: Named, config: RNNConfig, shapes: Shapes) -> set[str]:
    """The names of an RNN's arrays up to the first that is not there."""
    names = set()
    for _, name, _, _ in named.entries(config):
        names.add(name)
        if name not in shapes:
            break
    return names


def _misfit(named: Named, outlines: Iterator[RNNConfig], shapes: Shapes) -> str:
    """In words, how the names differ from those of the nearest RNN; "" if they do not."""
    differences: list[tuple[list[str], list[str]]] = []
    prefixes: set[str] = set()
    for _, stacks in groupby(outlines, lambda outline: replace(outline, num_layers=1)):
        common = -1
        for outline in stacks:
            names = dict.fromkeys(name for _, name, _, _ in named.entries(outline))
            first = next(iter(names))
            extra = [name for name in shapes if name not in names]
            if len(shapes) - len(extra) == common:
                break  # another layer has none of these arrays
            common = len(shapes) - len(extra)
            differences.append((extra, [name for name in names if name not in shapes]))
            prefixes |= {name.removesuffix(first) for name in shapes if name.endswith(first)}
    if prefixes and "" not in prefixes:
        begin = _listed([repr(prefix) for prefix in sorted(prefixes)])
        return f", but names begin with {begin}: keep those of one RNN, without this prefix"
    extra, missing = min(differences, key=lambda pair: [*map(len, pair)], default=([], []))
    words = {"missing": missing, "extra": extra}
    return "".join(f"; {word}: {_listed(names)}" for word, names in words.items() if names)


def _listed(names: list[str]) -> str:
    return ", ".join(names if len(names) <= MAX_NAMES else [*names[:MAX_NAMES], "..."])


def _sized(outline: RNNConfig, shapes: Shapes, known: Mapping[str, Any]) -> Iterator[RNNConfig]:
    """The outline with every size that a length of the arrays may stand for."""
    lengths = {length for shape in shapes.values() for length in shape}
    lengths |= {n // outline.num_gates for n in lengths if n % outline.num_gates == 0}
    sizes = {name: [known[name]] if name in known else sorted(lengths) for name in SIZES}
    if not outline.projection_size:
        sizes["projection_size"] = [0]
    for values in product(*sizes.values()):
        chosen = dict(zip(sizes, values, strict=True))
        if not outline.skip_input or chosen["input_size"] == chosen["hidden_size"]:
            yield replace(outline, **chosen)
