"""Calls that repeat: what descriptors and sizes say of a pass is worked out once.

A public function that wears `repeated` describes a pass instead of running it. What it answers
depends on its descriptors, its numbers, and which of its data arguments are NULL, and is remembered
by these; what is passed as data is looked at in every call.
"""

from __future__ import annotations

import inspect
import itertools
import operator
import typing
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, ParamSpec, cast

from ..core._reader import versions
from ..errors import MiopyError
from .arguments import object_class
from .entry import Entry, compiled, live_check, names_of_checks, object_parameters
from .passes import Pass

P = ParamSpec("P")

MOST_PASSES = 256  # that a handle remembers
MOST_ROWS = 2**20  # of all of these: what is known of sequences takes memory for each

_next_version = itertools.count().__next__
_set = object.__setattr__


class Versioned:
    """A descriptor that tells when it changes: no two states of any descriptors share a version.

    holds   its attributes that are descriptors, or None
    """

    __slots__ = ("version",)

    holds: ClassVar[tuple[str, ...]] = ()
    version: int

    def __setattr__(self, name: str, value: Any) -> None:
        _set(self, name, value)
        # After the change: who reads a version may see a later state, never an earlier one.
        _set(self, "version", _next_version())

    def become(self, source: Versioned) -> None:
        """Say all that another of its class says."""
        for name in type(self).__slots__:
            setattr(self, name, getattr(source, name))


class Passes:
    """The passes that calls on a handle have run more than once, by what they were called with."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Pass] = {}
        self._rows = 0
        self._met: set[int] = set()  # hashes of keys: descriptors may change with every call
        self.find = self._known.get

    def __len__(self) -> int:
        return len(self._known)

    def meet(self, key: Hashable, described: Pass) -> None:
        """Remember a pass whose key comes for the second time."""
        if described.rows > MOST_ROWS:
            return
        if len(self._known) >= MOST_PASSES:
            self.forget()
        if len(self._met) > 2 * MOST_PASSES:  # by keys that come once: others stay known
            self._met.clear()
        if hash(key) in self._met:
            if self._rows + described.rows > MOST_ROWS:
                self.forget()
            described.repeats = True
            self._known[key] = described
            self._rows += described.rows
        self._met.add(hash(key))

    def forget(self) -> None:
        self._known.clear()
        self._rows = 0
        self._met.clear()


# What is put around a function, compiled for each. A key that cannot be made is one of arguments
# that are refused, however they go about it, or arrays of an own kind. What a handle remembers has
# the versions of live descriptors: only others are looked at by the function.
REMEMBERING = """
def {name}({parameters}):
    try:
        {first}
        try:
            key = ({name!r}, {key})
            found = {passes}.find(key)
        except Exception:
            key = found = None
        if found is None:
            found = _function({arguments})
            found.take_from(_data)
            if key is not None:
                {passes}.meet(key, found)
        return {run}
    except _MiopyError as error:
        _label(error, {name!r})
        raise
"""


def leave(error: MiopyError, name: str) -> None:
    """What an error needs that somebody else labels."""


def remembering(
    function: Callable[P, Any],
    passes: str,
    key: Sequence[str],
    data: Sequence[str],
    names: Mapping[str, Any],
    *,
    label: Callable[[MiopyError, str], None] = leave,
    first: str = "pass",
    run: str = "found.run({data})",
) -> Any:
    """A function that runs what `function` describes, or what it has described before.

    passes   the expression of a `Passes`
    key      expressions of what descriptions depend on
    data     the parameters that are passed to what was described
    names    what the expressions use besides parameters
    label    called with an error that leaves, and the name of the function
    first    a line to begin with
    run      the expression of what is done in the end, with `found` and the tuple `data`
    """
    given = {"_function": function, "_data": tuple(data), "_label": label, **names}
    passed = f"({', '.join(data)},)"
    parts = {"passes": passes, "key": ", ".join(key), "first": first}
    return compiled(function, REMEMBERING, given, run=run.format(data=passed), **parts)


def repeated(
    entry: Entry,
    *,
    also: Callable[[], Hashable] | None = None,
    around: Callable[[Any, Callable[[Any], None], Any], None] | None = None,
) -> Callable[[Callable[P, Pass]], Callable[P, None]]:
    """A public function of a dialect that runs the pass that the one it is given describes.

    Its first parameter is a handle with `passes`; parameters annotated `Any` are data.

    also     what else a description depends on
    around   (handle, run, data) runs it where the handle is `profiling`
    """

    def decorate(function: Callable[P, Pass]) -> Callable[P, None]:
        hints = typing.get_type_hints(function)
        names = list(inspect.signature(function).parameters)
        handle, *others = names
        data = [name for name in others if hints[name] is Any]
        parts = [_key_part(name, hints[name]) for name in others]
        holder = object_parameters(function)[0]
        given = {"_also": also, "_around": around, "_index": operator.index, "_versions": versions}
        run = "found.run({data})"
        if around:
            run += f" if not {handle}.profiling else _around({handle}, found.run, {{data}})"
        wrapper = remembering(
            entry(function),
            f"{handle}.passes",
            [*parts, *(["_also()"] if also else [])],
            data,
            {**given, **names_of_checks([holder])},
            label=entry.label,
            first=live_check(holder),
            run=run,
        )
        wrapper.__annotations__ = function.__annotations__ | {"return": None}
        wrapper.__signature__ = inspect.signature(function).replace(return_annotation=None)
        return cast("Callable[P, None]", wrapper)

    return decorate


def _key_part(name: str, hint: Any) -> str:
    """What a pass depends on of a parameter."""
    if hint is Any:
        return f"{name} is None"
    if typing.get_origin(hint) is Sequence:
        return f"_versions({name})"
    kind, is_optional = object_class(hint)
    if kind is None:
        return f"_index({name}), type({name})"  # what it is now: tensors may count, and change
    held = [f"{name}.{part} and {name}.{part}.version" for part in kind.holds]
    given = ", ".join([f"{name}.version", *held])
    return f"{name} and ({given})" if is_optional else given
