"""Arrays of what C has of miopy's objects."""

from __future__ import annotations

from dataclasses import dataclass

import cffi
import numpy as np
from fences import fenced

from miopy.objects import Objects

ffi = cffi.FFI()


@dataclass(eq=False)
class Thing:
    alive: bool = True


def found(objects: Objects, array: np.ndarray, count: int) -> list:
    return objects.find_all(ffi, ffi.cast("uintptr_t *", array.ctypes.data), count)


def test_an_array_is_not_read_past_the_page_of_a_stranger() -> None:
    objects, things = Objects(), [Thing() for _ in range(600)]
    numbers = [*map(objects.number, things), 5]
    array = fenced(np.array(numbers, np.uint64))  # ends where nothing may be read
    for _ in range(2):
        assert found(objects, array, 2**31 - 1) == [*things, 5]
        assert found(objects, array, 600) == things


def test_an_array_knows_when_one_of_its_objects_is_dropped() -> None:
    objects, things = Objects(), [Thing() for _ in range(3)]
    array = np.array([*map(objects.number, things)], np.uint64)
    for _ in range(2):
        assert found(objects, array, 3) == things
    objects.drop(int(array[1]))
    assert found(objects, array, 3) == [things[0], array[1]]
