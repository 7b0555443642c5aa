"""The decorator every cudnn* function wears, and the status of each kind of failure."""

from __future__ import annotations

import threading

from ...calls.entry import Entry
from ...errors import (
    BadParam,
    BufferTooSmall,
    DeviceError,
    MiopyError,
    Mismatch,
    NotSupported,
    OutOfMemory,
)
from .types import cudnnStatus_t

# Categories without details: what clients compare with, and what older versions had as well.
STATUS = {
    BadParam: cudnnStatus_t.CUDNN_STATUS_BAD_PARAM,
    Mismatch: cudnnStatus_t.CUDNN_STATUS_BAD_PARAM,
    BufferTooSmall: cudnnStatus_t.CUDNN_STATUS_BAD_PARAM,
    NotSupported: cudnnStatus_t.CUDNN_STATUS_NOT_SUPPORTED,
    DeviceError: cudnnStatus_t.CUDNN_STATUS_EXECUTION_FAILED,
    OutOfMemory: cudnnStatus_t.CUDNN_STATUS_ALLOC_FAILED,
    MiopyError: cudnnStatus_t.CUDNN_STATUS_INTERNAL_ERROR,
}
NOT_INITIALIZED = cudnnStatus_t.CUDNN_STATUS_NOT_INITIALIZED


class _Last(threading.local):
    """What cudnnGetLastErrorString says in this thread."""

    message = ""


LAST = _Last()


def _remember(error: MiopyError) -> None:
    LAST.message = str(error)


entry = Entry(STATUS, note=_remember)


def check_set(argument: str, descriptor: object, is_set: bool) -> None:
    """Raise BadParam with status NOT_INITIALIZED for a descriptor that was never set."""
    if not is_set:
        name = getattr(descriptor, "c_name", "descriptor")
        raise BadParam(argument, f"must be a {name} that was set", status=NOT_INITIALIZED)
