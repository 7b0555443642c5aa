"""Walks of the core taken down once, to be put on a stream in one call, with whatever memory.

While a walk is taken down, memory lies as `moving` says; behind the arguments come the copies of
index arrays, and scratch is the last one of all.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.backend import Layer, Walk
from ._stepped import ffi, lib
from .cuda_device import Device
from .cuda_kernels import Kernels
from .cuda_operations import Operations
from .cuda_stream import ALIGNMENT, Stream
from .moving import BASE_SHIFT, NotTaken, pointers
from .scratch import aligned_regions

LAST = 255  # the number of scratch
KINDS = {lib.run_forward: lib.PROGRAM_FORWARD, lib.run_backward: lib.PROGRAM_BACKWARD}


class _Recording:
    """A stream that takes down what is put on it.

    arrays   of indices, that are to be on the device
    layers   whose steps are among it
    """

    def __init__(self, device: Device, num_arguments: int) -> None:
        self.device = device
        self.calls: list[tuple[Any, ...]] = []  # as `program_call`
        self.moving: list[int] = []  # addresses of pointers that may move
        self.kept: list[Any] = []
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.layers: list[Layer] = []
        self.scratch_nbytes = 0
        self._first = num_arguments + 1

    def __enter__(self) -> Device:
        return self.device

    def __exit__(self, *raised: object) -> None: ...

    def regions(self, *nbytes: int) -> list[int]:
        starts, total = aligned_regions(nbytes, ALIGNMENT)
        self.scratch_nbytes = max(self.scratch_nbytes, total)
        return [(LAST << BASE_SHIFT) + start for start in starts]

    def upload(self, array: np.ndarray[Any, Any] | None) -> int:
        if array is None or array.size == 0:
            return 0
        known = [place for place, each in enumerate(self.arrays) if each is array]
        if not known:
            known = [len(self.arrays)]
            self.arrays.append(array)
            if self._first + len(self.arrays) >= LAST:
                raise NotTaken("more arrays than there are numbers")
        return self._first + known[0] << BASE_SHIFT

    def launch(self, function: int, elements: int, *arguments: Any) -> None:
        taken = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        self.moving += [place for each in arguments for place in _places(each)]
        self.kept += [arguments, taken]
        address = ffi.cast("void *", ctypes.addressof(taken))
        called = ffi.cast("void *", function)
        self.calls.append((lib.PROGRAM_LAUNCH, 0, called, elements, address))

    def multiply(self, call: Any) -> None:
        self._take(lib.PROGRAM_PRODUCT, call, [call])

    def copy(self, to: int, source: int, nbytes: int) -> None:
        raise NotTaken("copy")

    def run(self, function: Any, calls: Any, layer: Layer) -> None:
        self._take(KINDS[function], calls, [calls + number for number in range(len(calls))])
        self.layers.append(layer)

    def _take(self, kind: int, call: Any, parts: list[Any]) -> None:
        self.calls.append((kind, len(parts), ffi.NULL, 0, ffi.cast("void *", call)))
        for part in parts:
            start = int(ffi.cast("uintptr_t", part))
            self.moving += [start + offset for offset in pointers(ffi.typeof(part).item)]
        self.kept.append(call)


def _places(argument: Any) -> Iterator[int]:
    """Where an object of ctypes holds pointers."""
    start = ctypes.addressof(argument)
    if isinstance(argument, ctypes.c_void_p):
        yield start
    elif isinstance(argument, ctypes.Structure):
        fields = type(argument)._fields_
        names = [name for name, kind, *_ in fields if kind is ctypes.c_void_p]
        yield from (start + getattr(type(argument), name).offset for name in names)


class _Operations(Operations):
    """Takes down what is called instead of doing it."""

    def __init__(self, taken: _Recording, kernels: Kernels) -> None:
        super().__init__(taken, kernels)
        self._taken = taken

    def run(self, function: Any, calls: Any, layer: Layer) -> None:
        self._taken.run(function, calls, layer)

    def __getattr__(self, name: str) -> Any:
        raise NotTaken(name)


class Program:
    """The calls of a walk.

    is_replayed   whether a device should replay them as a graph when the same memory comes again
    has_steps     whether steps are among them
    """

    def __init__(self, taken: _Recording) -> None:
        self.has_steps = bool(taken.layers)
        self.is_replayed = self.has_steps and all(layer.is_replayed for layer in taken.layers)
        self._arrays, self._scratch_nbytes = taken.arrays, taken.scratch_nbytes
        read = ctypes.c_uint64.from_address
        moving = [place for place in taken.moving if read(place).value >> BASE_SHIFT]
        arrays = (
            ffi.new("program_call[]", taken.calls),
            ffi.new("void *[]", [ffi.cast("void *", place) for place in moving]),
            ffi.new("uint64_t[]", [read(place).value for place in moving]),
        )
        counts = len(taken.calls), len(moving)
        self._program = ffi.new("stepped_program *", (*counts, *arrays))
        self._bases = ffi.new("uint64_t[]", LAST + 1)
        self._placed: list[int] | None = None
        self._kept = taken.kept, taken.layers, arrays

    def bases(self, stream: Stream, addresses: list[int]) -> list[int]:
        """What it runs on now: the addresses of arguments, and of what the stream gives to it."""
        found = [*addresses, *map(stream.upload, self._arrays)]
        found += stream.regions(self._scratch_nbytes) if self._scratch_nbytes else [0]
        return found

    def put(self, bases: list[int], calls: Any) -> int:
        """Put the calls on a stream; an error, or 0. Once at a time."""
        if bases != self._placed:
            self._bases[1 : len(bases)] = bases[:-1]
            self._bases[LAST] = bases[-1]
            lib.place_program(self._program, self._bases)
            self._placed = bases
        return lib.run_program(calls, self._program)


def take_down(
    device: Device, kernels: Kernels, walk: Walk, names: tuple[str, ...]
) -> Program | None:
    """The program of a walk; None if there cannot be one."""
    if len(names) + 1 >= LAST:
        return None
    taken = _Recording(device, len(names))
    try:
        at = {name: number << BASE_SHIFT for number, name in enumerate(names, start=1)}
        walk(_Operations(taken, kernels), at)
    except NotTaken:
        return None
    return Program(taken)
