"""cffi build of `miopy.backends._stepped`: the loop over the steps that drives a device.

It is plain C and needs no GPU, no CUDA toolkit and no driver: launch and gemm come as addresses.
"""

from __future__ import annotations

import os
from pathlib import Path

from build_host import ROOT, declared, source

STEPPED = Path("miopy/kernels/stepped")

ffi = declared("_stepped")
ffi.set_source(
    "miopy.backends._stepped",
    source("_stepped"),
    sources=sorted(str(path.relative_to(ROOT)) for path in (ROOT / STEPPED).glob("*.c")),
    include_dirs=[str(STEPPED)],
    extra_compile_args=["-O2", "-fvisibility=hidden", "-Wall"],
    depends=[str(path.relative_to(ROOT)) for path in (ROOT / "miopy/kernels").glob("**/*.[ch]")],
)

if __name__ == "__main__":
    os.chdir(ROOT)
    ffi.compile(verbose=True)
