"""The real oneDNN library, with its functions called as miopy's are from Python.

    library = Library(threads=1)
    engine = library.dnnl_engine_create(CPU, 0)

A function keeps its name and its parameters; objects that it creates are returned, and failures
raise OneDNNError. So one program can run on this and on `miopy.onednn`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "onednn-cpu-gomp"  # the build for CPUs that needs nothing else to be loaded
CPU = 1
MAX_DIMENSIONS = 12

# What functions return that return no status.
RESULTS = {
    "dnnl_primitive_desc_query_md": ctypes.c_void_p,
    "dnnl_memory_desc_get_size": ctypes.c_size_t,
}


class OneDNNError(Exception):
    """A status other than success."""

    def __init__(self, function: str, status: int) -> None:
        super().__init__(f"{function}: status {status}")
        self.status = status


class Object:
    """An opaque handle, destroyed with it, and what must live as long."""

    def __init__(self, address: ctypes.c_void_p, destroy: Callable[..., int], *kept: object):
        self.address, self.destroy, self.kept = address, destroy, kept

    def __del__(self) -> None:
        self.destroy(self.address)


class Execution(ctypes.Structure):
    """dnnl_exec_arg_t."""

    _fields_ = (("arg", ctypes.c_int), ("memory", ctypes.c_void_p))


class Library:
    """Every `dnnl_...` attribute is the function of that name."""

    def __init__(self, *, threads: int) -> None:
        self._library = ctypes.CDLL(path())
        self._library.omp_set_num_threads(threads)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("dnnl_"):
            raise AttributeError(name)
        function = getattr(self._library, name)
        function.restype = RESULTS.get(name, ctypes.c_int)
        kind, creates, _ = name.removeprefix("dnnl_").partition("_create")

        def call(*arguments: Any) -> Any:
            passed = [as_passed(argument) for argument in arguments]
            if name in RESULTS:
                return function(*passed)
            address = ctypes.c_void_p()
            status = function(*[ctypes.byref(address)] * bool(creates), *passed)
            if status:
                raise OneDNNError(name, status)
            if creates:
                destroy = getattr(self._library, f"dnnl_{destroyed_as(kind)}_destroy")
                return Object(address, destroy, arguments)
            return None

        return call

    def execution(
        self, primitive: Object, stream: Object, pairs: Sequence[Any]
    ) -> Callable[[], None]:
        """Executes a primitive with (index, memory) pairs, converted beforehand, and waits."""
        execute, wait = self._library.dnnl_primitive_execute, self._library.dnnl_stream_wait
        passed = [as_passed(each) for each in (primitive, stream, len(pairs), pairs)]
        kept = primitive, stream, pairs

        def run() -> None:
            for function, arguments in ((execute, passed), (wait, passed[1:2])):
                if status := function(*arguments):
                    raise OneDNNError(f"{function.__name__} of {kept[0]}", status)

        return run


def destroyed_as(kind: str) -> str:
    """lstm_forward_primitive_desc and reorder_primitive_desc are primitive_desc."""
    return "primitive_desc" if kind.endswith("primitive_desc") else kind


def as_passed(argument: Any) -> Any:
    """The C value of an argument. A 64-bit integer does for a narrower one in 64-bit ABIs."""
    if argument is None or isinstance(argument, ctypes.c_void_p):
        return argument
    if isinstance(argument, Object):
        return argument.address
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, float):
        return ctypes.c_float(argument)
    if isinstance(argument, Sequence):
        return as_array(argument)
    return ctypes.c_int64(argument)


def as_array(values: Sequence[Any]) -> Any:
    """(index, memory) pairs are what a primitive is executed with, other lists are dimensions."""
    if values and isinstance(values[0], tuple):
        pairs = [Execution(index, memory.address.value) for index, memory in values]
        return (Execution * len(pairs))(*pairs)
    if len(values) <= MAX_DIMENSIONS and all(isinstance(value, int) for value in values):
        return (ctypes.c_int64 * MAX_DIMENSIONS)(*values)
    return (ctypes.c_float * len(values))(*values)


def version() -> str:
    """That of the installed package."""
    return metadata.version(PACKAGE)


@lru_cache
def cpu_has(feature: str) -> bool:
    """Whether Linux lists a feature of the CPU, such as avx512bw."""
    return feature in Path("/proc/cpuinfo").read_text().split()


def has_bfloat16() -> bool:
    """Whether its RNN primitives take bfloat16: on CPUs with AVX-512 alone."""
    return cpu_has("avx512bw")


@lru_cache
def path() -> str:
    """The shared library of the installed package."""
    files = metadata.files(PACKAGE) or []
    (found,) = (file for file in files if file.name == "libdnnl.so.3")
    return str(found.locate())
