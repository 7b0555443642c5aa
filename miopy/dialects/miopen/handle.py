"""Handles: a device, a stream on it, and where its memory comes from."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from ... import backends
from ...calls.repeated import Passes
from ...core.config import check_flag
from ...errors import BadParam
from .entry import entry
from .types import miopenStatus_t

VERSION = (3, 5, 0)  # the release this dialect answers for, as in include/miopen/version.h

Allocator = Callable[[Any, int], int]
Deallocator = Callable[[Any, int], None]
Function = TypeVar("Function", bound=Callable[..., Any])
R = TypeVar("R")


@dataclass(eq=False, slots=True)
class Handle:
    """What miopenCreate returns.

    backend      executes the handle's calls; one instance per handle
    stream       as given, not owned; None is the default stream
    profiling    whether calls are timed
    kernel_time  milliseconds of the last timed call
    passes       that its calls have run
    """

    c_name: ClassVar[str] = "miopenHandle_t"

    backend: Any
    stream: Any = None
    profiling: bool = False
    kernel_time: float = 0.0
    passes: Passes = field(default_factory=Passes)
    alive: bool = True


def run_timed(handle: Handle, function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """Call a function, and leave in the handle how long it took."""
    elapsed = handle.backend.timer()
    result = function(*args, **kwargs)
    handle.kernel_time = elapsed()
    return result


def timed(function: Function) -> Function:
    """Time the call where the handle profiles, as miopenEnableProfiling asks for."""

    @functools.wraps(function)
    def wrapper(handle: Handle, *args: Any, **kwargs: Any) -> Any:
        if not handle.profiling:
            return function(handle, *args, **kwargs)
        return run_timed(handle, function, handle, *args, **kwargs)

    return wrapper  # type: ignore[return-value]


@entry
def miopenGetErrorString(error: int) -> str:
    """The name of a miopenStatus_t, "Unknown error status" for any other integer."""
    try:
        return miopenStatus_t(error).name
    except ValueError:
        return "Unknown error status"


@entry
def miopenGetVersion() -> tuple[int, int, int]:
    """(major, minor, patch) of the MIOpen release whose behaviour this is."""
    return VERSION


@entry
def miopenCreate() -> Handle:
    """A handle on the default stream of the backend that MIOPY_BACKEND names.

    Raises DeviceError if that backend cannot be used here.
    """
    return handle_on(None)


@entry
def miopenCreateWithStream(stream: Any) -> Handle:
    """A handle on a stream: an address or an object that stands for one, None for the default.

    The stream is not owned. Without a GPU it is stored as it is.
    """
    return handle_on(stream)


def handle_on(stream: Any, auto: str | None = None) -> Handle:
    """A handle on a stream; `auto` is the backend that MIOPY_BACKEND=auto means."""
    backend = backends.get(auto=auto)
    backend.set_stream(stream)
    return Handle(backend, stream)


@entry
def miopenDestroy(handle: Handle | None) -> None:
    """Give back the handle's memory and threads, not its stream. None is accepted."""
    if handle is not None:
        handle.alive = False
        handle.passes.forget()
        handle.backend.close()
        handle.backend = None


@entry
def miopenSetStream(handle: Handle, streamID: Any) -> None:
    """Make later calls run on this stream: an address, CuPy's or PyTorch's object, or None.

    Without a GPU it is stored as it is.
    """
    handle.backend.set_stream(streamID, "streamID")
    handle.stream = streamID


@entry
def miopenGetStream(handle: Handle) -> Any:
    """The stream as it was given, None for the default one."""
    return handle.stream


@entry
def miopenSetAllocator(
    handle: Handle,
    allocator: Allocator | None,
    deallocator: Deallocator | None,
    allocatorContext: Any,
) -> None:
    """Let the backend take its memory from allocator(allocatorContext, nbytes) -> address.

    It gives it back with deallocator(allocatorContext, address). None for both restores the
    backend's own; None for one of them only is BadParam.
    """
    for argument, function in (("allocator", allocator), ("deallocator", deallocator)):
        if function is not None and not callable(function):
            raise BadParam(argument, "must be callable or NULL", function)
    if (allocator is None) != (deallocator is None):
        missing = "allocator" if allocator is None else "deallocator"
        raise BadParam(missing, "must not be NULL when its counterpart is given")
    handle.backend.set_allocator(allocator, deallocator, allocatorContext)


@entry
def miopenEnableProfiling(handle: Handle, enable: bool) -> None:
    """Time later calls, which then return only when they are done."""
    handle.profiling = check_flag("enable", enable)


@entry
def miopenGetKernelTime(handle: Handle) -> float:
    """Milliseconds of the last call made while profiling, 0 before any; kept when it ends."""
    return handle.kernel_time
