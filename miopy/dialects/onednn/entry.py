"""The decorator every dnnl_* function wears, and the status of each kind of failure."""

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
from .types import dnnl_status_t

STATUS = {
    BadParam: dnnl_status_t.dnnl_invalid_arguments,
    Mismatch: dnnl_status_t.dnnl_invalid_arguments,
    BufferTooSmall: dnnl_status_t.dnnl_invalid_arguments,
    NotSupported: dnnl_status_t.dnnl_unimplemented,
    DeviceError: dnnl_status_t.dnnl_runtime_error,
    OutOfMemory: dnnl_status_t.dnnl_out_of_memory,
    MiopyError: dnnl_status_t.dnnl_runtime_error,
}

entry = Entry(STATUS)
