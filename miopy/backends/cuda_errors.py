"""What CuPy raises, as errors of miopy: CuPy's have a status of their own, which is no vendor's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ..errors import DeviceError, MiopyError, OutOfMemory

P = ParamSpec("P")
T = TypeVar("T")

MEMORY_ALLOCATION = 2  # the number of this error in CUDA's and HIP's driver and runtime


def translated(function: Callable[P, T]) -> Callable[P, T]:
    """A function that raises DeviceError or OutOfMemory for what CuPy raises in it."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except MiopyError:
            raise
        except MemoryError as error:
            raise _out_of_memory(error) from error
        except RuntimeError as error:  # of the runtime, the driver, or CuPy itself
            if getattr(error, "status", None) == MEMORY_ALLOCATION:
                raise _out_of_memory(error) from error
            what = function.__name__.strip("_").replace("_", " ")
            raise DeviceError("device", f"failed in {what}: {error}") from error

    return wrapper


def _out_of_memory(error: Exception) -> OutOfMemory:
    return OutOfMemory("device", f"has not enough memory: {error}")
