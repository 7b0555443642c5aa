"""What functions of arrays do that give new arrays: described once, run on any memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from ..core._reader import read_each
from ..core.memory import HOST, reader
from .arrays import new_array, size_of
from .data import DataArguments

R = TypeVar("R")
Shape = tuple[int, ...]

ALIGNMENT = 64  # of scratch
SCRATCH = "scratch"


class Memory(NamedTuple):
    """The memory of one call.

    device    what runs
    at        addresses of the arrays that the call reads, by the names of its arguments
    new       (name, shape, dtype) -> the address of an array that the call gives
    scratch   bytes -> the address of so many until the call ends
    """

    device: Any
    at: Mapping[str, int]
    new: Callable[[str, Shape, str], int]
    scratch: Callable[[int], int]


class _Asked:
    """What a call has asked its memory for."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._kept: list[Any] = []
        self.arrays: dict[str, Any] = {}
        self.results: list[tuple[Shape, str]] = []
        self.offsets: list[int] = []  # of all scratch in one block
        self.scratch_nbytes = 0

    def new(self, name: str, shape: Shape, dtype: str) -> int:
        self.arrays[name], address = new_array(self._device, shape, dtype)
        self.results.append((shape, dtype))
        return address

    def scratch(self, nbytes: int) -> int:
        array, address = new_array(self._device, (nbytes,), "uint8")
        self._kept.append(array)
        self.offsets.append(self.scratch_nbytes)
        self.scratch_nbytes += -(-nbytes // ALIGNMENT) * ALIGNMENT
        return address


class _Laid:
    """Memory for calls that ask for what one has asked for, in the same order.

    names   of all addresses: what is read, what is given, scratch
    """

    def __init__(self, device: Any, inputs: Sequence[str], asked: _Asked) -> None:
        self._device, self._results = device, asked.results
        self._given = tuple(asked.arrays)
        self._offsets, self._nbytes = asked.offsets, asked.scratch_nbytes
        self.names = *inputs, *map("new {}".format, self._given), SCRATCH
        self._finds = [self._reader(*each) for each in asked.results]
        self._find_scratch = self._reader((self._nbytes + ALIGNMENT,), "uint8")

    def _reader(self, shape: Shape, dtype: str) -> Callable[[Any], int | None]:
        nbytes = size_of(shape, dtype)
        known = dtype if self._device.memory == HOST and dtype != "uint8" else None  # found sooner
        options: dict[str, Any] = {"writable": True, "optional": not nbytes}
        return reader("output", nbytes=nbytes, dtype=known, location=self._device, **options)

    def take(self, addresses: list[int]) -> tuple[dict[str, Any], Any]:
        """New arrays, and what owns scratch; adds where they are to the addresses of inputs."""
        empty = self._device.empty
        arrays = [empty(shape, dtype) for shape, dtype in self._results]
        addresses += [find(array) or 0 for find, array in zip(self._finds, arrays, strict=True)]
        block = empty((self._nbytes + ALIGNMENT,), "uint8") if self._nbytes else None
        start = 0 if block is None else self._find_scratch(block) or 0
        addresses.append(-(-start // ALIGNMENT) * ALIGNMENT)
        return dict(zip(self._given, arrays, strict=True)), block

    def memory(self, device: Any, at: Mapping[str, int]) -> Memory:
        """As a walk takes it, of addresses by these names."""
        results = iter([at[name] for name in self.names[-1 - len(self._given) : -1]])
        places = iter([at[SCRATCH] + offset for offset in self._offsets])
        return Memory(device, at, lambda *_: next(results), lambda _: next(places))


class Function(Generic[R]):
    """What calls do on arrays of the same types and shapes. It keeps no memory of any call.

    inputs     the arrays that they read
    walk       runs on the memory of a call; it asks for the same whenever it runs
    rows       of the sequences: what is known of them takes memory for each
    give       what a caller gets, of the new arrays by name
    prepares   whether calls differ in addresses alone

    `repeats` is set for what is to run again: the backend may prepare it.
    """

    def __init__(
        self,
        inputs: DataArguments,
        walk: Callable[[Memory], None],
        *,
        rows: int,
        give: Callable[[dict[str, Any]], R],
        prepares: bool = True,
    ) -> None:
        self.rows, self.repeats, self._prepares = rows, False, prepares
        self._device: Any = inputs.location
        self._inputs = inputs.arguments
        self._walk, self._give = walk, give
        self._laid: _Laid | None = None
        self._prepared: Callable[[list[int]], None] | None = None

    def take_from(self, names: Sequence[str]) -> None:
        """Let the values of calls have these names; others than the inputs' are not looked at."""
        self._reads = tuple([(names.index(each.name), each.read) for each in self._inputs])

    def run(self, values: tuple[Any, ...]) -> R:
        """Run on what a caller passes; all of it is checked before anything is computed."""
        addresses = read_each(self._reads, values)
        if self._laid is None:
            return self._give(self._run_first(addresses))
        arrays, scratch = self._laid.take(addresses)
        if self._prepared is None:
            self._walk_on(self._device, dict(zip(self._laid.names, addresses, strict=True)))
        else:
            self._prepared(addresses)
        del scratch  # only now
        return self._give(arrays)

    def _run_first(self, addresses: list[int]) -> dict[str, Any]:
        asked, inputs = _Asked(self._device), tuple(each.name for each in self._inputs)
        at = dict(zip(inputs, addresses, strict=True))
        self._walk(Memory(self._device, at, asked.new, asked.scratch))
        if self.repeats:
            self._laid = _Laid(self._device, inputs, asked)
            if self._prepares:
                self._prepared = self._device.prepare(self._walk_on, self._laid.names)
        return asked.arrays

    def _walk_on(self, device: Any, at: Mapping[str, int]) -> None:
        assert self._laid is not None
        self._walk(self._laid.memory(device, at))
