"""The host's sources where another compiler than this machine's reads them, or for another machine:
nothing is run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from clients import ROOT

HOST = ROOT / "miopy/kernels/host"
SOURCES = sorted(str(path.relative_to(HOST)) for path in HOST.glob("**/*.c"))
HEADERS = {"x86_64": "/usr/include/x86_64-linux-gnu", "aarch64": "/usr/aarch64-linux-gnu/include"}


def processors() -> list[str]:
    """Those whose C headers are where Debian puts them, if there is a compiler for all."""
    clang = shutil.which("clang-19")
    return [each for each, folder in HEADERS.items() if clang and Path(folder, "bits").is_dir()]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("processor", processors())
def test_clang_takes_it(processor, source):
    command = ["clang-19", f"--target={processor}-linux-gnu", "-fsyntax-only", "-Wall", "-Werror"]
    headers = ["-isystem", HEADERS[processor]]  # where clang looks only beside a GCC for the target
    subprocess.run([*command, *headers, HOST / source], check=True)
