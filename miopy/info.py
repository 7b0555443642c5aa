"""What this installation is made of: the first thing to put into a bug report."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import sysconfig
from collections.abc import Callable
from importlib import metadata

from . import __version__, get_include
from .backends import NAMES, chosen, why_missing
from .errors import MiopyError

SETTINGS = (
    "MIOPY_ALLOW_TF32",
    "MIOPY_BACKEND",
    "MIOPY_ISA",
    "MIOPY_LIBPYTHON",
    "MIOPY_NUM_THREADS",
    "MIOPY_ONEDNN_EXACT",
    "MIOPY_PYTHON",
    "MIOPY_RNN_ALGO",
    "MIOPY_RNN_WAVEFRONT",
)
OF_VENDORS = ("MIOPEN_", "CUDNN_", "ONEDNN_", "TF_CUDNN_")


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processors() -> str:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{usable} usable of {os.cpu_count()} ({platform.machine()})"


def _backend(name: str) -> str:
    reason = why_missing(name)
    return f"missing: {reason}" if reason else "available"


def _kernels() -> str:
    from .backends import host

    return host.build()


def _threads() -> str:
    from .backends import host

    return str(host.num_threads())


def _compiler() -> str:
    return f"{sysconfig.get_config_var('CC')} ({platform.python_compiler()})"


def _attempt(question: Callable[..., str], *arguments: str) -> str:
    """The answer, or why there is none: a broken installation is when this report is needed."""
    try:
        return question(*arguments)
    except MiopyError as error:
        return f"refused: {error}"
    except Exception as error:
        return f"unknown ({type(error).__name__}: {error})"


def _settings() -> dict[str, str]:
    """The variables of the environment that are miopy's or look like it, and those of vendors."""
    found = {}
    for name, value in sorted(os.environ.items()):
        if name in SETTINGS or name.startswith(OF_VENDORS):
            found[name] = value
        elif name.startswith("MIOPY_"):
            found[name] = f"{value} (unknown: miopy reads no variable of this name)"
    return found


def report() -> dict[str, str]:
    """Label and value of every line. Never raises."""
    lines = {
        "miopy": f"{__version__} in {os.path.dirname(__file__)}",
        "headers": _attempt(get_include),
        "Python": f"{platform.python_version()} ({sys.executable})",
        "compiler": _attempt(_compiler),
        "system": _attempt(platform.platform),
        "processors": _attempt(_processors),
    }
    for distribution in ("numpy", "cffi", "cupy-cuda12x", "cupy-cuda13x"):
        lines[distribution] = _attempt(_version, distribution)
    for backend in NAMES:
        lines[f"backend {backend}"] = _attempt(_backend, backend)
    lines["backend in Python"] = _attempt(chosen)
    lines["host kernels"] = _attempt(_kernels)
    lines["host threads"] = _attempt(_threads)
    return lines | _settings()


def main(arguments: list[str]) -> int:
    """Print the report; takes no arguments."""
    description = "Print versions, settings, backends and why one is missing."
    argparse.ArgumentParser("miopy info", description=description).parse_args(arguments)
    lines = report()
    width = max(map(len, lines))
    for label, value in lines.items():
        print(f"{label:{width}}  {value}")
    return 0
