"""The decorator every miopen* function wears, and the status of each kind of failure."""

from __future__ import annotations

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
from .types import miopenStatus_t

STATUS = {
    BadParam: miopenStatus_t.miopenStatusBadParm,
    # MIOpen throws without a status where arguments do not fit and where a buffer is too small.
    Mismatch: miopenStatus_t.miopenStatusUnknownError,
    BufferTooSmall: miopenStatus_t.miopenStatusUnknownError,
    NotSupported: miopenStatus_t.miopenStatusNotImplemented,
    DeviceError: miopenStatus_t.miopenStatusInternalError,
    OutOfMemory: miopenStatus_t.miopenStatusAllocFailed,
    MiopyError: miopenStatus_t.miopenStatusUnknownError,
}

entry = Entry(STATUS)
