"""The decorator every miopen* function wears: checks handles, names failures, sets statuses."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from ...errors import (
    BadParam,
    BufferTooSmall,
    DeviceError,
    MiopyError,
    NotSupported,
    OutOfMemory,
)
from .types import miopenStatus_t

Function = TypeVar("Function", bound=Callable[..., Any])

STATUS = {
    BadParam: miopenStatus_t.miopenStatusBadParm,
    # MIOpen throws without a status where a buffer is too small.
    BufferTooSmall: miopenStatus_t.miopenStatusUnknownError,
    NotSupported: miopenStatus_t.miopenStatusNotImplemented,
    DeviceError: miopenStatus_t.miopenStatusInternalError,
    OutOfMemory: miopenStatus_t.miopenStatusAllocFailed,
    MiopyError: miopenStatus_t.miopenStatusUnknownError,
}


def status_of(error: MiopyError) -> miopenStatus_t:
    """The status of an error: its own if it carries one, else that of its kind."""
    if error.status is not None:
        return miopenStatus_t(error.status)
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def check_live(argument: str, value: Any, kind: type) -> None:
    """Raise BadParam unless value is a `kind` that has not been destroyed."""
    if not isinstance(value, kind):
        raise BadParam(argument, f"must be a {kind.c_name}", value)  # type: ignore[attr-defined]
    if not value.alive:
        raise BadParam(argument, f"must be a live {kind.c_name}, this one was destroyed")  # type: ignore[attr-defined]


def entry(function: Function) -> Function:
    """Make a public function of the dialect.

    Parameters annotated with a class that has `c_name` (Handle and the descriptors) must be live
    objects of it; `Class | None` allows None. Errors leave with `.function` and `.status` set.
    """
    signature = inspect.signature(function)
    names = list(signature.parameters)
    checks: list[tuple[int, str, type, bool]] | None = None

    def find_checks() -> list[tuple[int, str, type, bool]]:
        hints = typing.get_type_hints(function)
        found = []
        for position, name in enumerate(names):
            hint = hints.get(name)
            kinds = typing.get_args(hint) or (hint,)
            live = [kind for kind in kinds if isinstance(kind, type) and hasattr(kind, "c_name")]
            if live and typing.get_origin(hint) is not list and hint is not None:
                found.append((position, name, live[0], type(None) in kinds))
        return found

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        nonlocal checks
        if kwargs:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        if checks is None:
            checks = find_checks()
        try:
            for position, name, kind, optional in checks:
                value = args[position] if position < len(args) else None
                if value is None and optional:
                    continue
                check_live(name, value, kind)
            return function(*args)
        except MiopyError as error:
            if error.function is None:
                error.function = function.__name__
            error.status = status_of(error)
            raise

    return wrapper  # type: ignore[return-value]
