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
        self._parts: dict[int, dict[Any, int]] = {}  # of objects that others lend, by the lender
        self._memory: dict[int, dict[Any, Any]] = {}  # of numbers and texts that objects have
        self._next = itertools.count(0x4D49 << 48 | 16, 16)
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
            return Address(number)
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
        self._memory.pop(number, None)
        for part in self._parts.pop(number, {}).values():
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
