"""Run a Python program whose emulated device is watched by a sanitizer.

    PYTHONPATH=tests python -m hostcuda.run_sanitized address|thread PROGRAM [ARGUMENT...]

Kernels and, for `address`, the device's products and memory are built with it:

address   AddressSanitizer and UndefinedBehaviorSanitizer
thread    ThreadSanitizer: accesses of two threads of a kernel that nothing orders

The first report ends the program with status 99. PROGRAM is what `python` takes: a file, or -m and
a module.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

from . import build

REPORTED = 99
_OPTIONS = {
    # Python keeps what it has allocated.
    "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:exitcode={REPORTED}",
    "UBSAN_OPTIONS": f"print_stacktrace=1:exitcode={REPORTED}",
    # Only the kernels were built for it: what else runs in Python would look like races.
    "TSAN_OPTIONS": f"ignore_noninstrumented_modules=1:halt_on_error=1:exitcode={REPORTED}",
    "PYTHONMALLOC": "malloc",  # small blocks have neighbours otherwise
    "OPENBLAS_NUM_THREADS": "1",
}
_ADDR_NO_RANDOMIZE = 0x0040000


def run(sanitizer: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The same from a test: run, and give back what was printed."""
    folders = [str(build.FOLDER.parent), str(build.FOLDER.parent.parent)]
    path = os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", __name__, sanitizer, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def main() -> None:
    sanitizer, *arguments = sys.argv[1:]
    library = build.VARIANTS[sanitizer].library
    found = subprocess.check_output([build.COMPILER, f"-print-file-name={library}"], text=True)
    # Older ThreadSanitizers know few of the places that a system may choose for a program. Where
    # this is not allowed it may not be needed.
    ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)
    environment = {**os.environ, **_OPTIONS, build.SANITIZER: sanitizer}
    environment["LD_PRELOAD"] = found.strip()
    os.execve(sys.executable, [sys.executable, *arguments], environment)


if __name__ == "__main__":
    main()
