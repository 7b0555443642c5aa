"""What C has of miopy's objects: numbers that look like addresses."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

FIRST, STEP = 0x4D49 << 48 | 16, 16  # numbers of objects
NUMBER, PAGE = 8, 4096  # bytes of a number; no machine has smaller pages
KEPT_ARRAYS = 256  # parts of arrays, of a page at most, whose objects are all live


class Address(int):
    """A number from C that stands for no live object."""

    def __repr__(self) -> str:
        return hex(self)


class Destroyed(Address):
    """A number that has been given out, for an object that is no more."""

    alive = False


class Objects:
    """Live objects by the number that stands for each in C.

    Numbers never repeat, and as addresses they are such as no x86-64 process can map: code that
    follows one by mistake faults at once.
    """

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._numbers: dict[Any, int] = {}
        self._parts: dict[int, dict[Any, int]] = {}  # of objects that others lend, by the lender
        self._memory: dict[int, dict[Any, Any]] = {}  # of numbers and texts that objects have
        self._arrays: dict[bytes, list[Any]] = {}
        self._next = itertools.count(FIRST, STEP)
        self.live = self._objects.get  # the quick way: None also for NULL and strangers

    def __len__(self) -> int:
        return len(self._objects)

    def number(self, value: Any) -> int:
        """The number of an object, a new one if C does not know it yet.

        One that has been destroyed but is still referred to gets a number of no object.
        """
        return self._number_in(self._numbers, value)

    def _number_in(self, numbers: dict[Any, int], value: Any) -> int:
        number = numbers.get(value)
        if number is not None:
            return number
        number = next(self._next)
        if not value.alive:
            return number
        self._objects[number] = value  # before another thread can find the number
        known = numbers.setdefault(value, number)
        if known != number:
            del self._objects[number]
        return known

    def find(self, number: int) -> Any:
        """The object; None for 0, an Address for a number of no object."""
        found = self._objects.get(number)
        if found is None and number:
            given_out = number >= FIRST and (number - FIRST) % STEP == 0
            # `next` uses a number up: it is above all that were given out before.
            return (Destroyed if given_out and number < next(self._next) else Address)(number)
        return found

    def number_of_part(self, value: Any, owner: int) -> int:
        """The number of an object that the one of number `owner` lends, and with which it goes.

        The same object has another number where another object lends it; its own number, if it has
        one, stays.
        """
        own = self._numbers.get(value)
        return self._number_in(self._parts.setdefault(owner, {}), value) if own is None else own

    def is_lent(self, number: int) -> bool:
        """Whether a number stands for an object that belongs to another one."""
        value = self._objects.get(number)
        return value is not None and self._numbers.get(value) != number

    def memory(self, content: Any, owner: int, make: Callable[[], Any]) -> Any:
        """What `make` makes of some content, once for the object of number `owner`."""
        kept = self._memory.setdefault(owner, {})
        if content not in kept:
            kept[content] = make()
        return kept[content]

    def drop(self, number: int) -> None:
        """Forget an object and what belongs to it."""
        value = self._objects.pop(number, None)
        if self._numbers.get(value) == number:
            del self._numbers[value]
        self._arrays.clear()
        self._memory.pop(number, None)
        for part in self._parts.pop(number, {}).values():
            self.drop(part)

    def find_all(self, ffi: Any, numbers: Any, count: int) -> list[Any]:
        """The objects of a C array, up to the first number of none: what follows is not read, but
        for the rest of its page, which is there. Descriptors per time step come again and again."""
        found: list[Any] = []
        while (done := len(found)) < count:
            here, length = numbers + done, count - done
            if length > 1:
                room = PAGE - int(ffi.cast("uintptr_t", here)) % PAGE
                length = min(length, room // NUMBER or 1)
            part = ffi.buffer(here, length * NUMBER)[:]
            objects = self._arrays.get(part) or self._read(part)
            found += objects
            if isinstance(objects[-1], Address) or objects[-1] is None:
                break
        return found

    def _read(self, part: bytes) -> list[Any]:
        """The objects of a part of an array, up to the first number of none."""
        objects: list[Any] = []
        for number in memoryview(part).cast("Q"):
            objects.append(self.find(number))
            if number not in self._objects:
                return objects
        if len(self._arrays) >= KEPT_ARRAYS:
            self._arrays.clear()
        self._arrays[part] = objects
        return objects


OBJECTS = Objects()  # one for all dialects, so that none mistakes another's objects
