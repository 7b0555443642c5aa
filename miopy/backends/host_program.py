"""Walks of the core taken down once, to run on any memory in one call of the compiled kernels.

While a walk is taken down, memory lies as `moving` says, scratch as if it were the last argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..core.backend import BackwardRun, ForwardRun, Walk
from ._host import ffi, lib
from .host_operations import Operations
from .host_stepped import HostEngine, check_steps
from .moving import BASE_SHIFT, NotTaken, pointers

assert BASE_SHIFT == lib.BASE_SHIFT
_PARTS = ("sums", "also", "other")  # pointers to structs


class _Calls(Operations):
    """Takes down what is called instead of doing it.

    scratch         where scratch lies meanwhile
    scratch_nbytes  what steps need of it
    """

    def __init__(self, pool: Any, scratch: int) -> None:
        self.calls: list[tuple[int, Any]] = []
        self.parts: list[Any] = []  # structs whose pointers may move
        self.kept: list[Any] = []
        self.scratch_nbytes = 0
        self._pool, self._scratch = pool, scratch

    def _do(self, operation: int, call: Any, kept: Any) -> None:
        self.calls.append((operation, call))
        self.parts += _parts(call)
        self.kept.append(kept)

    def _compose(self, compose: Callable[..., None], run: ForwardRun | BackwardRun) -> None:
        compose(HostEngine(self._pool, self._take_scratch, self._run_steps), [run])

    def _take_scratch(self, nbytes: int) -> int:
        self.scratch_nbytes = max(self.scratch_nbytes, nbytes)
        return self._scratch

    def _run_steps(self, call: Any, parts: list[Any], kept: Any) -> None:
        self._do(lib.STEPS, call, kept)
        self.parts += parts

    def __getattr__(self, name: str) -> Any:
        raise NotTaken(name)


def _parts(call: Any) -> Iterator[Any]:
    """The structs of a call: those too that it points to."""
    yield call
    for name, _ in ffi.typeof(call).item.fields:
        if name in _PARTS and getattr(call, name):
            yield from _parts(getattr(call, name))


class Program:
    """The calls of a walk.

    scratch_nbytes   what the largest of them needs on the pool
    """

    def __init__(self, pool: Any, taken: _Calls, num_arguments: int) -> None:
        operations = [operation for operation, _ in taken.calls]
        calls = [call for _, call in taken.calls]
        needs = (lib.operation_scratch(pool, *each) for each in taken.calls)
        self.scratch_nbytes = max(taken.scratch_nbytes, *needs, 0)
        moving, places = [], []
        for part in taken.parts:
            start = ffi.cast("char *", part)
            for offset in pointers(ffi.typeof(part).item):
                place = ffi.cast("uint64_t *", start + offset)[0]
                if place >> BASE_SHIFT:
                    moving.append(start + offset)
                    places.append(place)
        arrays = (
            ffi.new("int[]", operations),
            ffi.new("void *[]", calls),
            ffi.new("void *[]", moving),
            ffi.new("uint64_t[]", places),
        )
        counts = len(calls), len(places), num_arguments
        self._program = ffi.new("program *", (*counts, *arrays))
        self._num_arguments = num_arguments
        self._kept = calls, taken.parts, taken.kept, arrays

    def run(self, pool: Any, addresses: list[int], scratch: int) -> None:
        """Once at a time."""
        assert len(addresses) == self._num_arguments  # which C believes
        error = lib.run_program(pool, self._program, addresses, scratch)
        if error:
            check_steps(error)


def take_down(pool: Any, walk: Walk, names: tuple[str, ...]) -> Program | None:
    """The program of a walk; None if there cannot be one."""
    taken = _Calls(pool, len(names) + 1 << BASE_SHIFT)
    try:
        walk(taken, {name: number << BASE_SHIFT for number, name in enumerate(names, start=1)})
    except NotTaken:
        return None
    return Program(pool, taken, len(names))
