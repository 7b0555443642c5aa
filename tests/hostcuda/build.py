"""Compiling the runtime and kernel sources into shared libraries that are kept on disk."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miopy.backends.cuda_source import Source

FOLDER = Path(__file__).resolve().parent
CACHE = FOLDER.parent.parent / "build/hostcuda"
COMPILER = "g++"
FLAGS = ("-std=c++17", "-fPIC", "-shared")
# As device compilers do, order no accesses by their types.
KERNEL_FLAGS = (*FLAGS, "-fno-strict-aliasing", "-ffp-contract=off")
# Accesses at addresses that a device faults at are told to the runtime: see alignment.cpp.
ALIGNMENT = "-fsanitize=alignment"
RUNTIME_FLAGS = (*FLAGS, "-O3", "-Wall", "-Wextra")


@dataclass(frozen=True)
class Variant:
    """Compiler flags for kernels, and for the runtime; the latter's sanitizer, to be preloaded."""

    kernels: tuple[str, ...]
    runtime: tuple[str, ...]
    library: str = ""


# Kernels run for less time than compilers take: with -O2 these took twice as long.
COMPILED_SOON = "-Og"
PORTABLE = "portable"
_REPORTING = ("-g1", "-fno-omit-frame-pointer")
# Optimised, all the checks would take three times as long to compile.
_ADDRESS = ("-O0", *_REPORTING, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
VARIANTS = {
    "": Variant((COMPILED_SOON, ALIGNMENT), ()),
    # Without this processor's assembler.
    PORTABLE: Variant((COMPILED_SOON, ALIGNMENT), ("-DHOSTCUDA_UCONTEXT",)),
    "address": Variant(_ADDRESS, _ADDRESS, "libasan.so"),
    # What the runtime does is not the kernels' doing: see sanitizers.h.
    "thread": Variant(
        ("-O1", *_REPORTING, "-fsanitize=thread"), ("-DHOSTCUDA_THREAD_SANITIZER",), "libtsan.so"
    ),
}
SANITIZER = "HOSTCUDA_SANITIZER"  # names the variant of this process; run_sanitized sets it


def variant() -> Variant:
    return VARIANTS[os.environ.get(SANITIZER, "")]


def sampled(combinations: Iterable[Any], first: int) -> list[Any]:
    """All, or in a sanitizer's process, for which compilers take long, every third from `first` on:
    of cells by four types, that is every cell and every type."""
    every = list(combinations)
    return every[first::3] if os.environ.get(SANITIZER) else every


def runtime() -> Path:
    """The library of all `*.cpp` files, compiled as one: most of the work is reading headers."""
    sources = sorted(FOLDER.glob("*.cpp"))
    text = "".join(f'# 1 "{path}"\n{path.read_text()}' for path in sources)
    return library("runtime", text, (*RUNTIME_FLAGS, *variant().runtime))


def kernels(source: Source) -> Path:
    """A library that exports a `hostcuda::Kernel` hostcuda_<name> for each kernel of a source."""
    fibers = str(needs_fibers(source.text)).lower()
    exports = "".join(f"HOSTCUDA_EXPORT({name}, {fibers})\n" for name in source.kernels)
    text = f'#include "kernel.h"\n# 1 "{source.name}"\n{source.text}\n{exports}'
    return library(source.name, text, (*KERNEL_FLAGS, *variant().kernels))


def needs_fibers(text: str) -> bool:
    """Whether a source names anything by which a thread may wait, or a block has memory."""
    header = (FOLDER / "synchronize.h").read_text()
    waiting = re.findall(r"(\w+)\([^()]*\bhostcuda::Place place", header)
    return not {"DYNAMIC_SHARED", *waiting}.isdisjoint(re.findall(r"\w+", text))


def library(name: str, text: str, flags: tuple[str, ...]) -> Path:
    """The library that the text makes, built unless it is there."""
    headers = "".join(path.read_text() for path in sorted(FOLDER.glob("*.h")))
    digest = hashlib.sha256("\0".join([text, headers, *flags]).encode()).hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    library = CACHE / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}-{digest}.so"
    with open(library.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of the processes that want it builds it
        if not library.exists():
            _compile(library, text, flags)
    return library


def _compile(library: Path, text: str, flags: tuple[str, ...]) -> None:
    # A sanitizer that this process was given would watch the compiler: twice its time.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        source, compiled, made = (Path(folder, name) for name in ("a.cpp", "a.o", "a.so"))
        source.write_text(text)
        linking = [
            flag for flag in flags if flag != ALIGNMENT
        ]  # the compiler's library has no part
        for command in (
            [COMPILER, *flags, f"-I{FOLDER}", "-c", str(source), "-o", str(compiled)],
            [COMPILER, *linking, str(compiled), "-o", str(made)],
        ):
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            if done.returncode:
                raise RuntimeError(f"{library.name} does not compile:\n{done.stderr}")
        os.replace(made, library)
