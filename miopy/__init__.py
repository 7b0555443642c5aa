"""MIOpen's RNN API for machines without MIOpen.

Each vendor vocabulary ("dialect") is an attribute, imported when first used:

    from miopy import miopen

Importing miopy itself needs no NumPy, no compiled kernel and no GPU.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

__version__ = "0.1.0"

_PACKAGE = Path(__file__).resolve().parent


def _dialects() -> list[str]:
    """Names of the folders of `miopy/dialects`."""
    return [name for _, name, _ in pkgutil.iter_modules([str(_PACKAGE / "dialects")])]


def __getattr__(name: str) -> ModuleType:
    if name not in _dialects():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.dialects.{name}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_dialects()])


def carried(folder: str) -> Path:
    """A folder of the project: inside an installed package, beside the package in a checkout."""
    inside = _PACKAGE / folder
    return inside if inside.is_dir() else _PACKAGE.parent / folder


def get_sdk() -> str:
    """The directory of the C API's headers, libraries, CMake packages and pkg-config files."""
    return str(_PACKAGE / "_sdk")


def get_include() -> str:
    """The directory to give a C compiler with -I, for `#include <miopen/miopen.h>`."""
    return str(_PACKAGE / "_sdk/include")
