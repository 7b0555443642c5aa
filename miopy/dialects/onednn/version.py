"""The release that this dialect answers for, and the names of statuses."""

from __future__ import annotations

from typing import NamedTuple

from .entry import entry
from .types import dnnl_status_t

RUNTIME_NONE, RUNTIME_SEQUENTIAL = 0, 1  # DNNL_RUNTIME_NONE, DNNL_RUNTIME_SEQ


class dnnl_version_t(NamedTuple):
    """A release. Threads are miopy's own, so that it is built with no threading runtime."""

    major: int = 3
    minor: int = 13
    patch: int = 2
    hash: str = "miopy"
    cpu_runtime: int = RUNTIME_SEQUENTIAL
    gpu_runtime: int = RUNTIME_NONE


@entry
def dnnl_version() -> dnnl_version_t:
    """The release whose behaviour this is."""
    return dnnl_version_t()


@entry
def dnnl_status2str(v: int) -> str:
    """The name of a dnnl_status_t without its prefix, "unknown status" for any other integer."""
    try:
        return dnnl_status_t(v).name.removeprefix("dnnl_")
    except ValueError:
        return "unknown status"
