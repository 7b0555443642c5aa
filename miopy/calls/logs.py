"""What dialects write about calls from C."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, TextIO

NUMBERS = {
    *("int", "unsigned", "unsigned int", "unsigned long long"),
    *("size_t", "int32_t", "uint32_t", "float", "double"),
}


def say(text: str, stream: TextIO | None) -> None:
    """Print; a stream that is missing or closed must not make the call fail."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):
            print(text, file=stream, flush=True)


def with_traceback(message: str, error: BaseException) -> str:
    return message + "\n" + "".join(traceback.format_exception(error)).rstrip()


def tracer(
    head: str, parameters: Sequence[tuple[str, str]], types: ModuleType
) -> Callable[..., None]:
    """What writes a call and its numbers to standard error.

    head         what the first line begins with: the result's type and the function's name
    parameters   C type and name of each
    types        has the enumerations, by the names of their C types
    """
    kinds = ", ".join(kind for kind, _ in parameters)

    def trace(*numbers: Any) -> None:
        lines = [
            f"{parameter} = {shown(kind, number, types)}"
            for (kind, parameter), number in zip(parameters, numbers, strict=True)
        ]
        say("\n".join([f"{head}({kinds}){{", *lines, "}"]), sys.stderr)

    return trace


def shown(kind: str, number: Any, types: ModuleType) -> str:
    """Enumerators by name, pointers and handles as addresses."""
    kind = kind.removeprefix("const ")
    enumeration = getattr(types, kind, None)
    if enumeration is not None:
        return next((each.name for each in enumeration if each == number), str(number))
    if kind in NUMBERS:
        return str(number)
    return str(bool(number)).lower() if kind == "bool" else hex(number)
