"""Calls that are taken down once and run on any memory.

While they are taken down, argument number n, from 1 on, lies at n << BASE_SHIFT: every pointer that
is put into a call then tells which of them it belongs to, and where in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ._stepped import ffi, lib

BASE_SHIFT: int = lib.PROGRAM_BASE_SHIFT


class NotTaken(Exception):
    """A walk calls what a program cannot hold."""


@lru_cache(maxsize=64)
def pointers(ctype: Any) -> tuple[int, ...]:
    """Where a C type of cffi has pointers, in bytes from its start."""
    if ctype.kind == "pointer":
        return (0,)
    parts: Iterator[tuple[int, Any]] = iter(())
    if ctype.kind == "array":
        size = ffi.sizeof(ctype.item)
        parts = ((index * size, ctype.item) for index in range(ctype.length))
    elif ctype.kind == "struct":
        parts = ((field.offset, field.type) for _, field in ctype.fields)
    return tuple(start + inner for start, part in parts for inner in pointers(part))
