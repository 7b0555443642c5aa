"""Compiling and running the C and C++ programs of `tests/c`, as a user of the SDK would."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import miopy
from miopy import config_command

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests/c"
SDK = Path(miopy.get_sdk())
STANDARDS = {".c": ("cc", "-std=c99"), ".cpp": ("c++", "-std=c++11")}
# Contraction into fused multiplication would make arithmetic differ from NumPy's.
FLAGS = ("-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", "-ffp-contract=off")
# Where pip puts the commands of this Python, then the system's.
TOOLS = os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"])


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run with nothing else in the environment."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def run_well(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Standard output of a command that must succeed and print nothing to standard error."""
    done = run(*command, cwd=cwd, **environment)
    said = f"{command[0]} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    assert (done.returncode, done.stderr) == (0, ""), said
    return done.stdout


def build(tool: str, *arguments: str | Path, cwd: Path, **environment: str) -> str:
    """Run a compiler or the like, found by name; it must succeed and not warn."""
    path = shutil.which(tool, path=TOOLS)
    assert path, f"{tool} is not installed; these tests need it"
    return run_well(path, *arguments, cwd=cwd, PATH=TOOLS, **environment)


def compile_client(
    name: str, folder: Path, sdk: Path = SDK, dialects: Sequence[str] = ("miopen",)
) -> Path:
    """Build one source of `tests/c` with the flags of miopy-config; gives the program."""
    source = SOURCES / name
    program = folder / source.stem
    answers = [config_command.answers(sdk, dialect) for dialect in dialects]
    cflags, libs = (
        [flag for answer in answers for flag in shlex.split(answer[option])]
        for option in ("cflags", "libs")
    )
    build(*STANDARDS[source.suffix], *FLAGS, *cflags, source, "-o", program, *libs, cwd=folder)
    return program


def make_client(name: str, folder: Path, question: str, **environment: str) -> Path:
    """Build a source by a Makefile that asks a command for the flags, as many projects do."""
    source = SOURCES / name
    compiler = " ".join([*STANDARDS[source.suffix], *FLAGS])
    rule = f"{source.stem}: {source}\n\t@{compiler} $< $(shell {question}) -o $@\n"
    (folder / "Makefile").write_text(rule)
    build("make", cwd=folder, **environment)
    return folder / source.stem


class Dump:
    """What a client wrote, read in the order of writing."""

    def __init__(self, program: Path):
        path = program.with_suffix(".dump")
        self.printed = run_well(program, path, cwd=program.parent)
        self.rest = path.read_bytes()

    def next(self, name: str) -> np.ndarray:
        """The bytes of the next dump, which must be of that name."""
        head, _, rest = self.rest.partition(b"\n")
        found, nbytes = head.decode().split()
        assert found == name
        self.rest = rest[int(nbytes) :]
        return np.frombuffer(rest[: int(nbytes)], np.uint8).copy()

    def floats(self, name: str) -> np.ndarray:
        return self.next(name).view(np.float32)

    def expect(self, **arrays: np.ndarray) -> None:
        """The next dumps are these arrays, bit for bit."""
        for name, array in arrays.items():
            np.testing.assert_array_equal(self.next(name), array.view(np.uint8).ravel(), name)
