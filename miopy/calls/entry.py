"""The decorator that the public functions of a dialect wear."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple, ParamSpec, TypeVar

from ..errors import MiopyError
from .arguments import LiveObject, check_live, object_class

P = ParamSpec("P")
R = TypeVar("R")

# What the decorator puts around a function, compiled for each: a loop over its parameters would
# cost more than most functions do.
ENTRY = """
def {name}({parameters}):
    try:
        {checks}
        return _function({arguments})
    except _MiopyError as error:
        _label(error, {name!r})
        raise
"""


class ObjectParameter(NamedTuple):
    """A parameter that takes a live object of `kind`, or also None."""

    name: str
    kind: type[LiveObject]
    optional: bool


class Entry:
    """Makes public functions of a dialect.

    Parameters annotated with a class that has `c_name` (Handle and the descriptors) must be live
    objects of it; `Class | None` allows None. Errors leave with `.function` and `.status` set.

    statuses   the dialect's status for each kind of failure
    note       what else to do with an error that leaves; it must not raise
    """

    def __init__(
        self,
        statuses: Mapping[type[MiopyError], IntEnum],
        note: Callable[[MiopyError], None] | None = None,
    ) -> None:
        self.statuses = statuses
        self._note = note

    def status_of(self, error: MiopyError) -> IntEnum:
        """The status of an error: its own if it carries one, else that of its kind."""
        if error.status is not None:
            return type(self.statuses[MiopyError])(error.status)
        return next(self.statuses[kind] for kind in type(error).__mro__ if kind in self.statuses)

    def label(self, error: MiopyError, name: str) -> None:
        """Note the function and the status of an error that leaves a public function."""
        if error.function is None:
            error.function = name
        error.status = self.status_of(error)
        if self._note is not None:
            self._note(error)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        objects = object_parameters(function)
        checks = "\n        ".join(map(live_check, objects)) or "pass"
        names = {"_function": function, "_label": self.label, **names_of_checks(objects)}
        return compiled(function, ENTRY, names, checks=checks)


def compiled(
    function: Callable[..., Any], text: str, names: Mapping[str, Any], **parts: str
) -> Any:
    """What a text around a function says, of the same parameters.

    names   what the text uses besides parameters and errors
    parts   of the text, besides the function's name, parameters and arguments
    """
    name = function.__name__
    parameters, arguments = forwarded(function)
    text = text.format(name=name, parameters=parameters, arguments=arguments, **parts)
    found: dict[str, Any] = {"_MiopyError": MiopyError, **names}
    exec(compile(text, f"<around {name}>", "exec"), found)
    wrapper: Any = found[name]
    wrapper.__defaults__ = function.__defaults__
    wrapper.__kwdefaults__ = function.__kwdefaults__
    return functools.wraps(function)(wrapper)


def forwarded(function: Callable[..., Any]) -> tuple[str, str]:
    """The parameters of a function without their defaults, and how they are passed on to it."""
    kinds = {name: each.kind for name, each in inspect.signature(function).parameters.items()}
    named = [name for name, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY]
    plain = [name for name in kinds if name not in named]
    star = ["*"] if named else []
    return ", ".join([*plain, *star, *named]), ", ".join([*plain, *(f"{n}={n}" for n in named)])


def object_parameters(function: Callable[..., Any]) -> list[ObjectParameter]:
    """The parameters annotated with a handle or descriptor class, alone or as `Class | None`."""
    hints = typing.get_type_hints(function)
    found = []
    for name in inspect.signature(function).parameters:
        kind, is_optional = object_class(hints.get(name))
        if kind is not None:
            found.append(ObjectParameter(name, kind, is_optional))
    return found


def live_check(parameter: ObjectParameter) -> str:
    """The line that refuses what is no live object."""
    name = parameter.name
    given = f"{name} is not None and " if parameter.optional else ""
    wrong = f"(type({name}) is not _{name} or not {name}.alive)"
    return f"if {given}{wrong}: _check_live({name!r}, {name}, _{name})"


def names_of_checks(parameters: list[ObjectParameter]) -> dict[str, Any]:
    """What the lines of these parameters use."""
    kinds = {f"_{parameter.name}": parameter.kind for parameter in parameters}
    return {"_check_live": check_live, **kinds}
