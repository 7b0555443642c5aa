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


def environment(sanitizer: str) -> dict[str, str]:
    """This process' own, and what the variant of `build.VARIANTS` needs."""
    library = build.VARIANTS[sanitizer].library
    command = [build.COMPILER, f"-print-file-name={library}"]
    folders = [str(build.FOLDER.parent), str(build.FOLDER.parent.parent)]
    return {
        **os.environ,
        **_OPTIONS,
        build.SANITIZER: sanitizer,
        "LD_PRELOAD": subprocess.check_output(command, text=True).strip() if library else "",
        "PYTHONPATH": os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")]),
    }


def _place_in_order() -> None:
    """Older ThreadSanitizers know few of the places that a system may choose for a program; where
    it may not be asked for others, there is no need."""
    ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)


def run(sanitizer: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The same from a test: run, and give back what was printed."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment(sanitizer),
        preexec_fn=_place_in_order,
        capture_output=True,
        text=True,
    )


def main() -> None:
    sanitizer, *arguments = sys.argv[1:]
    _place_in_order()
    os.execve(sys.executable, [sys.executable, *arguments], environment(sanitizer))


if __name__ == "__main__":
    main()
