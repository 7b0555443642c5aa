"""What C has of miopy's objects: numbers that look like addresses."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any


class Address(int):
    """A number from C that stands for no live object."""

    def __repr__(self) -> str:
        return hex(self)


class Objects:
    """Live objects by the number that stands for each in C.

    Numbers never repeat, and as addresses they are such as no x86-64 process can map: code that
    follows one by mistake faults at once.
    """

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._numbers: dict[Any, int] = {}
        self._parts: dict[int, list[int]] = {}  # numbers of objects that others have
        self._memory: dict[int, dict[Any, Any]] = {}  # of numbers and texts that objects have
        self._next = itertools.count(0x4D49 << 48 | 16, 16)
        self.live = self._objects.get  # the quick way: None also for NULL and strangers

    def __len__(self) -> int:
        return len(self._objects)

    def number(self, value: Any) -> int:
        """The number of an object, a new one if C does not know it yet.

        One that has been destroyed but is still referred to gets a number of no object.
        """
        number = self._numbers.get(value)
        if number is not None:
            return number
        if not value.alive:
            return next(self._next)
        number = self._numbers.setdefault(value, next(self._next))
        self._objects[number] = value
        return number

    def find(self, number: int) -> Any:
        """The object; None for 0, an Address for a number of no object."""
        found = self._objects.get(number)
        if found is None and number:
            return Address(number)
        return found

    def number_of_part(self, value: Any, owner: int) -> int:
        """The number of an object; if it is new, the object goes with that of number `owner`."""
        is_new = value not in self._numbers
        number = self.number(value)
        if is_new:
            self._parts.setdefault(owner, []).append(number)
        return number

    def memory(self, content: Any, owner: int, make: Callable[[], Any]) -> Any:
        """What `make` makes of some content, once for the object of number `owner`."""
        kept = self._memory.setdefault(owner, {})
        if content not in kept:
            kept[content] = make()
        return kept[content]

    def drop(self, number: int) -> None:
        """Forget an object and what belongs to it."""
        self._numbers.pop(self._objects.pop(number, None), None)
        self._memory.pop(number, None)
        for part in self._parts.pop(number, ()):
            self.drop(part)

    def find_all(self, numbers: Any, count: int) -> list[Any]:
        """The objects of an array, up to the first number of none: what follows is not read."""
        found: list[Any] = []
        previous = value = None
        for index in range(count):
            number = numbers[index]
            if number != previous:
                previous, value = number, self._objects.get(number)
                if value is None:
                    found.append(self.find(number))
                    break
            found.append(value)
        return found


OBJECTS = Objects()  # one for all dialects, so that none mistakes another's objects
