"""What a forked child does not wait for: locks that a thread of its parent held go to it taken, and
nobody gives them back there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from ._reader import forks

T = TypeVar("T")


def lock_of_process(locks: dict[int, threading.Lock]) -> threading.Lock:
    """The lock of this process among those of one object, a new one after a fork."""
    process = forks()  # os.getpid takes longer: the system answers it
    return locks.get(process) or locks.setdefault(process, threading.Lock())


class cached_property(Generic[T]):
    """As of functools, which before Python 3.12 has one lock for all instances. Threads may compute
    a value twice."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> T | cached_property[T]:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._function(instance))
