"""Handles: a device and a stream on it. Versions and errors by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ... import backends
from ...calls.arguments import check_integer
from ...calls.repeated import Passes
from ...errors import DeviceError
from .entry import LAST, NOT_INITIALIZED, entry
from .types import cudnnStatus_t

VERSION = (9, 19, 0)  # the release this dialect answers for


@dataclass(eq=False, slots=True)
class Handle:
    """What cudnnCreate returns.

    backend   executes the handle's calls; one instance per handle
    stream    as given, not owned; None is the default stream
    passes    that its calls have run
    """

    c_name: ClassVar[str] = "cudnnHandle_t"

    backend: Any
    stream: Any = None
    passes: Passes = field(default_factory=Passes)
    alive: bool = True


def handle_on(auto: str | None = None) -> Handle:
    """A handle on the default stream; `auto` is the backend that MIOPY_BACKEND=auto means."""
    try:
        return Handle(backends.get(auto=auto))
    except DeviceError as error:
        error.status = NOT_INITIALIZED
        raise


@entry
def cudnnCreate() -> Handle:
    """A handle on the default stream of the backend that MIOPY_BACKEND names.

    Raises DeviceError with status NOT_INITIALIZED if that backend cannot be used here.
    """
    return handle_on()


@entry
def cudnnDestroy(handle: Handle | None) -> None:
    """Give back the handle's memory and threads, not its stream. None is accepted."""
    if handle is not None:
        handle.alive = False
        handle.passes.forget()
        handle.backend.close()
        handle.backend = None


@entry
def cudnnSetStream(handle: Handle, streamId: Any) -> None:
    """Make later calls run on this stream: an address, CuPy's or PyTorch's object, or None.

    Without a GPU it is stored as it is.
    """
    handle.backend.set_stream(streamId, "streamId")
    handle.stream = streamId


@entry
def cudnnGetStream(handle: Handle) -> Any:
    """The stream as it was given, None for the default one."""
    return handle.stream


@entry
def cudnnGetVersion() -> int:
    """The release whose behaviour this is, as one number: major * 10000 + minor * 100 + patch."""
    major, minor, patch = VERSION
    return major * 10000 + minor * 100 + patch


@entry
def cudnnGetErrorString(status: int) -> str:
    """The name of a cudnnStatus_t, "CUDNN_UNKNOWN_STATUS" for any other integer."""
    try:
        return cudnnStatus_t(status).name
    except ValueError:
        return "CUDNN_UNKNOWN_STATUS"


@entry
def cudnnGetLastErrorString(max_size: int) -> str:
    """What the last call that failed in this thread had to say, "" before any.

    max_size   room for it, a terminating NUL included: at most max_size - 1 characters return
    """
    return LAST.message[: max(check_integer("max_size", max_size, 0) - 1, 0)]
