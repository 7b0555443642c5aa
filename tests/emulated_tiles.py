"""The host backend's build for AMX, its tiles emulated, on a machine that has AVX-512 alone.

    PYTHONPATH=tests:tools python -m emulated_tiles ARGUMENT...

is pytest with those arguments in a process whose host backend has that one build, of the same
sources but for `tiles/`; MIOPY_ISA needs no value there. It has no double, no 8-bit codes and no
cells that run step by step: they end the process.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TILES = ROOT / "tests/tiles"
HOST = ROOT / "miopy/kernels/host"
CACHE = ROOT / "build/tiles"
SOURCES = (
    TILES / "kernels.c",
    *(HOST / f"builds/{build}.c" for build in ("amx_bf16", "amx_float")),
    *(HOST / f"tensors/{family}.c" for family in ("dropout", "rows", "tensor")),
    *(HOST / f"{name}/{name}.c" for name in ("pool", "quantized", "recurrence", "stepped")),
    HOST / "program.c",
)
MODULE = "miopy.backends._host"
# One level of optimisation is enough: most of the time goes to compiling.
FLAGS = (
    *(
        "-O1",
        "-fexpensive-optimizations",
        "-g0",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        "-Wall",
        "-Wextra",
        "-Werror",
    ),
    *("-Wno-psabi", "-Wno-unused-parameter", "-Wno-missing-field-initializers"),
    *("-pthread", "-include", str(TILES / "tiles.h"), f"-I{HOST}"),
    f"-I{sysconfig.get_path('include')}",
)


def library() -> Path:
    """The extension, built unless it is there."""
    import build_host  # which generates what kernels include

    texts = [path for folder in (TILES, HOST.parent) for path in sorted(folder.rglob("*.*"))]
    how = (*FLAGS, *(str(path.relative_to(ROOT)) for path in SOURCES))
    every = b"\0".join([*(path.read_bytes() for path in texts), *map(str.encode, how)])
    made = CACHE / f"_host-{hashlib.sha256(every).hexdigest()[:16]}.so"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of the processes that want it builds it
        if not made.exists():
            _compile(build_host.ffi, made)
    return made


def _compile(ffi: object, made: Path) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        wrapper, built = Path(folder, "_host.c"), Path(folder, "_host.so")
        ffi.emit_c_code(str(wrapper))
        objects = {Path(folder, f"{path.stem}.o"): path for path in (wrapper, *SOURCES)}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda to: _cc("-c", objects[to], "-o", to), objects))
        _cc(*objects, "-o", built, "-lm")
        os.replace(built, made)


def _cc(*arguments: str | Path) -> None:
    done = subprocess.run(["cc", *FLAGS, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the emulated build does not compile:\n{done.stderr}")


def install() -> None:
    """Make it this process' host backend; before anything of miopy's is imported."""
    specification = importlib.util.spec_from_file_location(MODULE, library())
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    sys.modules[MODULE] = module


if __name__ == "__main__":
    import pytest

    install()
    sys.exit(pytest.main(sys.argv[1:]))
