"""Compiling the runtime and kernel sources into shared libraries that are kept on disk."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path

from miopy.backends.cuda_source import Source

FOLDER = Path(__file__).resolve().parent
CACHE = FOLDER.parent.parent / "build/hostcuda"
COMPILER = "g++"
# A device compiler makes nothing of types when it orders accesses, and knows no fast math here.
KERNEL_FLAGS = ("-std=c++17", "-fPIC", "-shared", "-fno-strict-aliasing", "-ffp-contract=off")
RUNTIME_FLAGS = ("-std=c++17", "-fPIC", "-shared", "-Wall", "-Wextra")
OPTIMIZE = ("-O2",)


def runtime() -> Path:
    """The library of all `*.cpp` files."""
    sources = sorted(FOLDER.glob("*.cpp"))
    text = "".join(path.read_text() for path in sources)
    return _library("runtime", text, (*RUNTIME_FLAGS, "-O3"), *sources)


def kernels(source: Source) -> Path:
    """A library that exports a `hostcuda::Kernel` hostcuda_<name> for each kernel of a source."""
    exports = "".join(f"HOSTCUDA_EXPORT({name})\n" for name in source.kernels)
    text = f'#include "kernel.h"\n# 1 "{source.name}"\n{source.text}\n{exports}'
    return _library(source.name, text, (*KERNEL_FLAGS, *OPTIMIZE))


def _library(name: str, text: str, flags: tuple[str, ...], *sources: Path) -> Path:
    """The library built from sources, or from the text itself; `text` and flags identify it."""
    headers = "".join(path.read_text() for path in sorted(FOLDER.glob("*.h")))
    digest = hashlib.sha256("\0".join([text, headers, *flags]).encode()).hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    library = CACHE / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}-{digest}.so"
    with open(library.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of the processes that want it builds it
        if not library.exists():
            _compile(library, text, flags, sources)
    return library


def _compile(library: Path, text: str, flags: tuple[str, ...], sources: tuple[Path, ...]) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        if not sources:
            sources = (Path(folder, "kernels.cpp"),)
            sources[0].write_text(text)
        made = Path(folder, "library.so")
        command = [COMPILER, *flags, f"-I{FOLDER}", *map(str, sources), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{library.name} does not compile:\n{done.stderr}")
        os.replace(made, library)
