"""The decorator that every operation wears."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ...errors import MiopyError

P = ParamSpec("P")
R = TypeVar("R")


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Let errors that leave say which operation failed. MPSGraph has no status codes."""

    @functools.wraps(function)
    def operation(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return function(*arguments, **named)
        except MiopyError as error:
            error.function = function.__name__
            raise

    return operation
