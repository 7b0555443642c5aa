"""Backends run gemms and kernels on one kind of memory; found by name, `backends/<name>.py`."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ..errors import DeviceError

NAMES = ("host", "cuda")


def why_missing(name: str) -> str | None:
    """None if the backend can be used here, else the reason. Raises BadParam for a setting that
    breaks a rule."""
    if name not in NAMES:
        known = ", ".join(("auto", *NAMES))
        return f"there is no backend of that name; known are {known}"
    module = f"{__name__}.{name}"
    try:
        stale: str | None = importlib.import_module(f"{__name__}.compiled").why_stale()
        return stale or importlib.import_module(module).why_missing()
    except ImportError as error:
        return "this version of miopy does not have it yet" if error.name == module else str(error)


def chosen(name: str | None = None, *, auto: str | None = None) -> str:
    """The name of a usable backend: `name`, or MIOPY_BACKEND, or `auto`.

    `auto` takes cuda where a device is usable, else host; or what the argument says. A backend that
    was asked for by name and cannot be used raises DeviceError with the reason.
    """
    name = name or os.environ.get("MIOPY_BACKEND") or "auto"
    if name == "auto":
        name = auto or ("host" if why_missing("cuda") else "cuda")
    reason = why_missing(name)
    if reason:
        raise DeviceError("MIOPY_BACKEND", f"cannot be {name!r}: {reason}")
    return name


def get(name: str | None = None, *, auto: str | None = None) -> Any:
    """A new instance of the backend that is `chosen`."""
    return importlib.import_module(f"{__name__}.{chosen(name, auto=auto)}").create()
