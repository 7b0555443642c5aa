"""Engines and streams. A CPU engine is the backend "host", a GPU engine the backend "cuda".

All streams of an engine are one queue: what was put on one of them comes before what is put on
another later.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ... import backends
from ...calls.arguments import check_enum, check_integer
from ...core.forks import lock_of_process
from ...core.memory import address_of
from ...errors import BadParam
from .entry import entry
from .types import dnnl_engine_kind_t, dnnl_stream_flags_t

BACKENDS = {dnnl_engine_kind_t.dnnl_cpu: "host", dnnl_engine_kind_t.dnnl_gpu: "cuda"}


@dataclass(eq=False, slots=True)
class Engine:
    """What dnnl_engine_create returns.

    backend   executes primitives on the engine's streams
    """

    c_name: ClassVar[str] = "dnnl_engine_t"

    kind: dnnl_engine_kind_t
    backend: Any
    alive: bool = True
    _locks: dict[int, threading.Lock] = field(default_factory=dict)
    _scratchpad: Any = None
    _scratchpad_nbytes: int = 0

    @property
    def lock(self) -> threading.Lock:
        """Held while a primitive executes: scratchpads of the library are shared."""
        return lock_of_process(self._locks)

    def scratchpad(self, nbytes: int) -> int:
        """The address of the library's scratchpad, grown to `nbytes`; 0 for none."""
        if nbytes > self._scratchpad_nbytes:
            self._scratchpad, self._scratchpad_nbytes = None, 0  # gone before its successor comes
            self._scratchpad = self.backend.empty((nbytes,), "uint8")
            self._scratchpad_nbytes = nbytes
        if not nbytes:
            return 0
        return address_of(
            "scratchpad", self._scratchpad, nbytes=nbytes, writable=True, location=self.backend
        )

    def close(self) -> None:
        """Give back what was kept between calls, when no primitive executes."""
        with self.lock:
            self._scratchpad, self._scratchpad_nbytes = None, 0
            self.backend.close()


@dataclass(eq=False, slots=True)
class Stream:
    """What dnnl_stream_create returns."""

    c_name: ClassVar[str] = "dnnl_stream_t"

    engine: Engine
    alive: bool = True


@entry
def dnnl_engine_get_count(kind: dnnl_engine_kind_t) -> int:
    """How many engines of a kind there are here: 1, or 0."""
    known = check_enum("kind", dnnl_engine_kind_t, kind)
    return int(backends.why_missing(BACKENDS.get(known, "")) is None)


@entry
def dnnl_engine_create(kind: dnnl_engine_kind_t, index: int) -> Engine:
    """An engine of a kind. BadParam unless `index` is below the number of those."""
    kind = check_enum("kind", dnnl_engine_kind_t, kind)
    if kind not in BACKENDS:
        raise BadParam("kind", "must be dnnl_cpu or dnnl_gpu", kind.name)
    reason = backends.why_missing(BACKENDS[kind])
    if reason:
        raise BadParam("kind", f"cannot be {kind.name}: {reason}")
    if check_integer("index", index, 0) > 0:
        raise BadParam("index", "must be 0", index)
    return Engine(kind, backends.get(BACKENDS[kind]))


@entry
def dnnl_engine_get_kind(engine: Engine) -> dnnl_engine_kind_t:
    return engine.kind


@entry
def dnnl_engine_destroy(engine: Engine | None) -> None:
    """Give back what the engine keeps. None is accepted."""
    if engine is not None:
        engine.alive = False
        engine.close()


@entry
def dnnl_stream_create(engine: Engine, flags: int) -> Stream:
    """A stream of an engine; `flags` is dnnl_stream_in_order or, with no effect, out_of_order."""
    known = sum({flag.value for flag in dnnl_stream_flags_t})
    if not 0 < check_integer("flags", flags, 0) <= known:
        raise BadParam("flags", "must be stream flags", flags)
    return Stream(engine)


@entry
def dnnl_stream_get_engine(stream: Stream) -> Engine:
    return stream.engine


@entry
def dnnl_stream_wait(stream: Stream) -> None:
    """Return when all work of the stream's engine is done."""
    stream.engine.backend.timer()()


@entry
def dnnl_stream_destroy(stream: Stream | None) -> None:
    """None is accepted."""
    if stream is not None:
        stream.alive = False
