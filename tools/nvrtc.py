"""NVIDIA's run-time compiler on a machine without a GPU: the wheel's library through ctypes.

Its log carries the report of the assembler: registers, stack, spills of every kernel.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.metadata
import re
from collections.abc import Iterator
from dataclasses import dataclass

DISTRIBUTION = "nvidia-cuda-nvrtc-cu12"
OPTIONS = (  # CuPy's own
    "-std=c++17",
    "-ftz=true",
    "--device-as-default-execution-space",
)
USAGE = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Usage:
    """What a kernel takes of a target.

    registers   of one thread
    stack       bytes of one thread: arrays in memory and spills
    spills      bytes that one thread stores and loads for want of registers
    shared      bytes of one block
    """

    registers: int
    stack: int
    spills: int
    shared: int


def version() -> str:
    """Of the installed compiler. Raises PackageNotFoundError."""
    return importlib.metadata.version(DISTRIBUTION)


@functools.cache
def _library() -> ctypes.CDLL:
    for file in importlib.metadata.files(DISTRIBUTION) or ():
        if re.fullmatch(r"libnvrtc\.so\.\d+", file.name):
            return ctypes.CDLL(str(file.locate()))
    raise FileNotFoundError(f"{DISTRIBUTION} has no libnvrtc.so")


def compile_source(name: str, text: str, target: str) -> dict[str, Usage]:
    """Kernel to usage on a target such as "sm_90".

    Raises ValueError with the compiler's log if it finds anything to complain about.
    """
    with _compiled(name, text, target) as program:
        report = _text(program, "ProgramLog")
    return {found["kernel"]: _usage(found) for found in USAGE.finditer(report)}


def instructions(name: str, text: str, target: str) -> str:
    """In PTX; raises as `compile_source`."""
    with _compiled(name, text, target) as program:
        return _text(program, "PTX")


@contextlib.contextmanager
def _compiled(name: str, text: str, target: str) -> Iterator[ctypes.c_void_p]:
    nvrtc, program = _library(), ctypes.c_void_p()
    options = [f"-arch={target}", *OPTIONS, "--ptxas-options=-v"]
    arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    created = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), f"{name}.cu".encode(), 0, None, None
    )
    if created:
        raise RuntimeError(f"nvrtcCreateProgram returned {created}")
    try:
        failed = nvrtc.nvrtcCompileProgram(program, len(options), arguments)
        report = _text(program, "ProgramLog")
        if failed or re.search(r"\bwarning\b", report):
            raise ValueError(f"{name} for {target}:\n{report}")
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _text(program: ctypes.c_void_p, what: str) -> str:
    nbytes = ctypes.c_size_t()
    getattr(_library(), f"nvrtcGet{what}Size")(program, ctypes.byref(nbytes))
    text = ctypes.create_string_buffer(nbytes.value)
    getattr(_library(), f"nvrtcGet{what}")(program, text)
    return text.value.decode()


def _usage(found: re.Match[str]) -> Usage:
    shared = re.search(r"(\d+) bytes smem", found["rest"])
    return Usage(
        registers=int(found["registers"]),
        stack=int(found["stack"]),
        spills=int(found["stores"]) + int(found["loads"]),
        shared=int(shared[1]) if shared else 0,
    )
