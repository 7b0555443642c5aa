"""The decorator every miopen* function wears, and the checks of arguments they share."""

from __future__ import annotations

import functools
import inspect
import operator
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from ...errors import (
    BadParam,
    BufferTooSmall,
    DeviceError,
    MiopyError,
    NotSupported,
    OutOfMemory,
)
from .types import miopenStatus_t

P = ParamSpec("P")
R = TypeVar("R")

STATUS = {
    BadParam: miopenStatus_t.miopenStatusBadParm,
    # MIOpen throws without a status where a buffer is too small.
    BufferTooSmall: miopenStatus_t.miopenStatusUnknownError,
    NotSupported: miopenStatus_t.miopenStatusNotImplemented,
    DeviceError: miopenStatus_t.miopenStatusInternalError,
    OutOfMemory: miopenStatus_t.miopenStatusAllocFailed,
    MiopyError: miopenStatus_t.miopenStatusUnknownError,
}


# What the decorator `entry` puts around a function, compiled for each: a loop over its parameters
# would cost more than most functions do.
WRAPPER = """
def {name}({parameters}):
    try:
        {checks}
        return _function({parameters})
    except _MiopyError as error:
        _label(error, {name!r})
        raise
"""


class LiveObject(Protocol):
    """A handle or a descriptor."""

    c_name: typing.ClassVar[str]
    alive: bool


class ObjectParameter(NamedTuple):
    """A parameter that takes a live object of `kind`, or also None."""

    name: str
    kind: type[LiveObject]
    optional: bool


def status_of(error: MiopyError) -> miopenStatus_t:
    """The status of an error: its own if it carries one, else that of its kind."""
    if error.status is not None:
        return miopenStatus_t(error.status)
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def label(error: MiopyError, name: str) -> None:
    """Note the function and the status of an error that leaves a public function."""
    if error.function is None:
        error.function = name
    error.status = status_of(error)


def check_live(argument: str, value: Any, kind: type[LiveObject]) -> None:
    """Raise BadParam unless value is a `kind` that has not been destroyed."""
    if not isinstance(value, kind):
        raise BadParam(argument, f"must be a {kind.c_name}", getattr(value, "c_name", value))
    if not value.alive:
        raise BadParam(argument, f"must be a live {kind.c_name}, this one was destroyed")


def check_descriptors(argument: str, values: Any, count: int, kind: type[LiveObject]) -> None:
    """Raise BadParam, naming the index, unless the first `count` values are live `kind` objects.

    values   a sequence of at least `count`; the same object may be repeated
    """
    if not hasattr(values, "__getitem__"):
        raise BadParam(argument, f"must be an array of {kind.c_name}", values)
    checked: Any = kind  # which is no descriptor
    for index in range(count):
        try:
            value = values[index]
        except LookupError:
            rule = f"must hold {count} descriptors and ends at index {index}"
            raise BadParam(argument, rule) from None
        if value is not checked:
            check_live(f"{argument}[{index}]", value, kind)
            checked = value


def check_integer(
    argument: str, value: Any, minimum: int, *, status: miopenStatus_t | None = None
) -> int:
    """value as an int; BadParam unless it is an integer from `minimum` to 2**63 - 1."""
    try:
        integer = operator.index(value)
    except TypeError:
        raise BadParam(argument, "must be an integer", value, status=status) from None
    if integer < minimum:
        raise BadParam(argument, f"must be at least {minimum}", integer, status=status)
    if integer >= 2**63:
        raise BadParam(argument, "must be below 2**63", integer, status=status)
    return integer


def check_integers(
    argument: str, values: Sequence[int], count: int, minimum: int
) -> tuple[int, ...]:
    """The first `count` values; BadParam, naming the index, unless each is at least `minimum`."""
    if not hasattr(values, "__getitem__"):
        raise BadParam(argument, "must be an array of integers", values)
    integers = []
    for index in range(count):
        try:
            value = values[index]
        except LookupError:
            rule = f"must hold {count} integers and ends at index {index}"
            raise BadParam(argument, rule) from None
        integers.append(check_integer(f"{argument}[{index}]", value, minimum))
    return tuple(integers)


def object_parameters(function: Callable[..., Any]) -> list[ObjectParameter]:
    """The parameters annotated with a handle or descriptor class, alone or as `Class | None`."""
    hints = typing.get_type_hints(function)
    found = []
    for name in inspect.signature(function).parameters:
        hint = hints.get(name)
        union = typing.get_origin(hint) in (typing.Union, types.UnionType)
        choices = typing.get_args(hint) if union else (hint,)
        kind = next((choice for choice in choices if hasattr(choice, "c_name")), None)
        if kind is not None:
            found.append(ObjectParameter(name, kind, type(None) in choices))
    return found


def live_check(parameter: ObjectParameter) -> str:
    """The line that refuses what is no live object."""
    name = parameter.name
    given = f"{name} is not None and " if parameter.optional else ""
    wrong = f"(type({name}) is not _{name} or not {name}.alive)"
    return f"if {given}{wrong}: _check_live({name!r}, {name}, _{name})"


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Make a public function of the dialect.

    Parameters annotated with a class that has `c_name` (Handle and the descriptors) must be live
    objects of it; `Class | None` allows None. Errors leave with `.function` and `.status` set.
    """
    objects = object_parameters(function)
    text = WRAPPER.format(
        name=function.__name__,
        parameters=", ".join(inspect.signature(function).parameters),
        checks="\n        ".join(map(live_check, objects)) or "pass",
    )
    names: dict[str, Any] = {"_function": function, "_check_live": check_live}
    names |= {"_MiopyError": MiopyError, "_label": label}
    names |= {f"_{parameter.name}": parameter.kind for parameter in objects}
    exec(compile(text, f"<entry of {function.__name__}>", "exec"), names)
    wrapper: Any = names[function.__name__]
    wrapper.__defaults__ = function.__defaults__
    return functools.wraps(function)(wrapper)
