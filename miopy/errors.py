"""Kinds of failure. A dialect maps each kind to one of its vendor's status codes."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

_ABSENT = object()
_LONGEST = 200  # characters of a value in a message


def brief(value: Any) -> str:
    """A value as messages show it: its repr in one line, cut where an array would fill a page; of a
    handle or descriptor, which is none, its type."""
    kind = type(value)
    if is_dataclass(kind) and kind.__eq__ is object.__eq__:
        value = getattr(kind, "c_name", kind.__name__)
    try:
        text = repr(value)
    except Exception:  # a caller's own
        text = object.__repr__(value)
    text = " ".join(line.strip() for line in text.splitlines())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


class MiopyError(Exception):
    """Base of every error miopy raises on purpose.

    argument   the parameter as the caller spells it
    rule       what must hold for it, phrased to follow the name
    value      what was passed instead (optional)
    status     the vendor's status code; set by the dialect's entry point unless given here
    function   the public function that was called; set by the dialect's entry point
    """

    def __init__(self, argument: str, rule: str, value: Any = _ABSENT, *, status: Any = None):
        super().__init__(argument, rule, value)
        self.argument = argument
        self.rule = rule
        self.value = None if value is _ABSENT else value
        self.has_value = value is not _ABSENT
        self.status = status
        self.function: str | None = None

    def __str__(self) -> str:
        place = f"{self.function}: " if self.function else ""
        got = f", got {brief(self.value)}" if self.has_value else ""
        return f"{place}`{self.argument}` {self.rule}{got}"


class BadParam(MiopyError, ValueError):
    """An argument that breaks a documented rule."""


class Mismatch(BadParam):
    """Arguments that are well formed, but not for one another or for this function."""


class BufferTooSmall(BadParam):
    """A buffer smaller than the size its query reports."""


class NotSupported(MiopyError, NotImplementedError):
    """A combination that the vendor, or miopy so far, does not offer."""


class DeviceError(MiopyError, RuntimeError):
    """A device, driver or compiler that failed."""


class OutOfMemory(MiopyError, MemoryError):
    """An allocation that failed."""
