"""Functions of arrays that give new arrays, as TensorFlow's and Apple's do: these have no handle.

A function that wears `functional` describes what calls do. Its answer depends on the types and
shapes of arrays, not on their memory, and on whatever else is passed; it is remembered by these.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from .functions import Function
from .repeated import Passes, remembering

P = ParamSpec("P")
R = TypeVar("R")

PLAIN = frozenset({bool, int, float, str, type(None)})


class Home(NamedTuple):
    """Where such functions run, and what is remembered of their calls."""

    backend: Any
    passes: Passes


def functional(
    home: Callable[[], Home], parts: Mapping[str, Callable[[Any], Hashable]] | None = None
) -> Callable[[Callable[P, Function[R]]], Callable[P, R]]:
    """A function that runs what the one it is given describes.

    Parameters annotated `Any` are arrays, others plain values; `name` means nothing.

    parts   what a description depends on of further kinds of parameters, by their names
    """
    own = parts or {}

    def decorate(function: Callable[P, Function[R]]) -> Callable[P, R]:
        hints = typing.get_type_hints(function)
        names = list(inspect.signature(function).parameters)
        key = []
        for name in filter("name".__ne__, names):
            kind = f"_part_{name}" if name in own else "_array" if hints[name] is Any else "_plain"
            key.append(f"{kind}({name})")
        data = [name for name in names if hints[name] is Any]
        given: dict[str, Any] = {f"_part_{name}": part for name, part in own.items()}
        given |= {"_home": home, "_array": array_part, "_plain": plain_part}
        wrapper = remembering(function, "_home().passes", key, data, given)
        (result,) = typing.get_args(hints["return"])
        wrapper.__annotations__ = function.__annotations__ | {"return": result}
        wrapper.__signature__ = inspect.signature(function).replace(return_annotation=result)
        return cast(Callable[P, R], wrapper)

    return decorate


def array_part(value: Any) -> Hashable:
    """What descriptions depend on of an array, or of what is passed instead of one."""
    kind = type(value)
    return (kind, value) if kind in PLAIN else (kind, value.shape, value.dtype)


def plain_part(value: Any) -> Hashable:
    """The same of a plain value: 1.0 and True equal 1, and may be refused."""
    kind = type(value)
    if kind not in PLAIN:
        raise TypeError
    return kind, value
