"""Checks of arguments that every dialect makes: live objects, numbers, flags, enumerators."""

from __future__ import annotations

import numbers
import operator
import struct
import types
import typing
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any, ClassVar, Protocol, TypeVar

from ..errors import BadParam

Member = TypeVar("Member", bound=IntEnum)


class LiveObject(Protocol):
    """A handle or a descriptor."""

    c_name: ClassVar[str]
    alive: bool


def require(**values: Any) -> None:
    """Raise BadParam for arguments that are NULL; vendors look at this before anything else."""
    for argument, value in values.items():
        if value is None:
            raise BadParam(argument, "must not be NULL")


def object_class(hint: Any) -> tuple[type[Any] | None, bool]:
    """The handle or descriptor class of an annotation, None if it has none, and whether it also
    allows None."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    choices = typing.get_args(hint) if union else (hint,)
    kind = next((choice for choice in choices if hasattr(choice, "c_name")), None)
    return kind, type(None) in choices


def check_live(argument: str, value: Any, kind: type[LiveObject]) -> None:
    """Raise BadParam unless value is a `kind` that has not been destroyed."""
    given, destroyed = getattr(value, "c_name", value), not getattr(value, "alive", True)
    # What C still has of a destroyed object is a number, which does not say of what kind it was.
    if not isinstance(value, kind) and not (destroyed and given is value):
        raise BadParam(argument, f"must be a {kind.c_name}", given)
    if destroyed:
        raise BadParam(argument, f"must be a live {kind.c_name}, this one was destroyed")


def first_of(argument: str, values: Any, count: int, what: str) -> Iterator[tuple[int, Any]]:
    """The indices and values of the first `count`; BadParam unless there are so many."""
    if not hasattr(values, "__getitem__"):
        raise BadParam(argument, f"must be an array of {what}", values)
    for index in range(count):
        try:
            value = values[index]
        except LookupError:
            rule = f"must hold {count} {what} and ends at index {index}"
            raise BadParam(argument, rule) from None
        except (RuntimeError, TypeError, ValueError) as error:  # such as of pointers that are NULL
            raise BadParam(argument, f"must be an array of {what}: {error}", values) from None
        yield index, value


def check_descriptors(argument: str, values: Any, count: int, kind: type[LiveObject]) -> None:
    """Raise BadParam, naming the index, unless the first `count` values are live `kind` objects.

    values   a sequence of at least `count`; the same object may be repeated
    """
    checked: Any = kind  # which is no descriptor
    for index, value in first_of(argument, values, count, kind.c_name):
        if value is not checked:
            check_live(f"{argument}[{index}]", value, kind)
            checked = value


def check_integer(argument: str, value: Any, minimum: int, *, status: IntEnum | None = None) -> int:
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


def check_number(argument: str, value: int, count: int) -> int:
    """value as an int from 0 to count - 1: which of an RNN's parts is meant."""
    number = check_integer(argument, value, 0)
    if number >= count:
        raise BadParam(argument, f"must be below {count} for this RNN", value)
    return number


def check_integers(
    argument: str, values: Sequence[int], count: int, minimum: int
) -> tuple[int, ...]:
    """The first `count` values; BadParam, naming the index, unless each is at least `minimum`."""
    return tuple(
        check_integer(f"{argument}[{index}]", value, minimum)
        for index, value in first_of(argument, values, count, "integers")
    )


def check_positive(**values: int) -> tuple[int, ...]:
    """The values, each an argument that must be > 0."""
    return tuple(check_integer(argument, value, minimum=1) for argument, value in values.items())


def check_real(argument: str, value: Any) -> float:
    """value as a float; BadParam unless it is a real number that one can hold. Text is none."""
    other = isinstance(value, str | bytes | numbers.Complex) or not hasattr(value, "__float__")
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    other |= kind in ("S", "U", "T", "O")  # NumPy's that may hold text
    try:
        if isinstance(value, numbers.Real) or not other:
            return float(value)
    except (OverflowError, TypeError, ValueError):
        pass
    raise BadParam(argument, "must be a number", value)


def check_float(argument: str, value: Any) -> float:
    """The nearest number of C's float; BadParam unless value is a real number in its range."""
    number = check_real(argument, value)
    try:
        return float(*struct.unpack("=f", struct.pack("=f", number)))
    except OverflowError:
        raise BadParam(argument, "must fit a float", number) from None


def check_enum(argument: str, kind: type[Member], value: int) -> Member:
    """The member of `kind` with this value; BadParam if there is none or another kind is given."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, IntEnum):
        try:
            return kind(operator.index(value))
        except (TypeError, ValueError):
            pass
    raise BadParam(argument, f"must be a {kind.__name__}", value)
