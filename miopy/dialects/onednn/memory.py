"""Memory objects: a descriptor, an engine, and where the tensor is.

A handle is an address, an array of the engine's kind of memory, or None; in C all are addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...calls.arguments import check_integer
from ...core.memory import HOST_LOCATION, reader
from ...errors import BadParam
from .engine import Engine
from .entry import entry
from .memory_descriptors import BLOCKED, OPAQUE, MemoryDescriptor
from .types import DNNL_MEMORY_ALLOCATE

BYTES = np.dtype(np.uint8)


@dataclass(eq=False, slots=True)
class Memory:
    """What dnnl_memory_create returns.

    handle   as given; of memory that was allocated here, the array
    mapped   copies of device memory that are mapped, by their address on the host
    """

    c_name: ClassVar[str] = "dnnl_memory_t"

    descriptor: MemoryDescriptor
    engine: Engine
    handle: Any = None
    mapped: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    alive: bool = True

    def address(self, argument: str, *, writable: bool) -> int:
        """Where the tensor is; 0 if it has no elements. BadParam for NULL or unfit memory."""
        backend = self.engine.backend
        return tensor_reader(argument, self.descriptor, backend, writable=writable)(self.handle)


def tensor_reader(
    argument: str, descriptor: MemoryDescriptor, backend: Any, *, writable: bool
) -> Callable[[Any], int]:
    """What answers the address behind a handle, checked to hold a descriptor's tensor; 0 without
    elements.

    A NumPy or CuPy array of bytes holds elements of any type, as memory that was allocated here
    does.
    """
    if not descriptor.nbytes:
        return lambda handle: 0
    rules: dict[str, Any] = {"nbytes": descriptor.nbytes, "writable": writable}
    rules["location"] = backend
    raw = typed = reader(argument, **rules)
    if descriptor.format_kind != OPAQUE:
        typed = reader(argument, dtype=descriptor.element_type.name, **rules)
    return lambda handle: (raw if getattr(handle, "dtype", None) == BYTES else typed)(handle) or 0


@entry
def dnnl_memory_create(memory_desc: MemoryDescriptor, engine: Engine, handle: Any = None) -> Memory:
    """A memory object.

    handle   an address or array; None (DNNL_MEMORY_NONE) to set one later; DNNL_MEMORY_ALLOCATE for
             memory of its own, its contents undefined
    """
    absent = not memory_desc.dims
    if not absent and memory_desc.format_kind not in (BLOCKED, OPAQUE):
        rule = "must say where elements are: query the primitive descriptor"
        raise BadParam("memory_desc", rule, memory_desc.format_kind.name)
    if memory_desc.has_runtime_values:
        raise BadParam("memory_desc", "must not have runtime dimensions or strides")
    if type(handle) is int and handle in (DNNL_MEMORY_ALLOCATE, -1):
        size = memory_desc.size
        handle = engine.backend.empty((size,), "uint8") if size else None
    else:
        _check_handle(handle, memory_desc, engine)
    return Memory(memory_desc.copy(), engine, handle)


def _check_handle(handle: Any, descriptor: MemoryDescriptor, engine: Engine) -> None:
    """Raise BadParam for what no execution could read. NULL may be set later."""
    if handle is not None:
        tensor_reader("handle", descriptor, engine.backend, writable=False)(handle)


@entry
def dnnl_memory_get_memory_desc(memory: Memory) -> MemoryDescriptor:
    """The memory object's own: not to be destroyed."""
    return memory.descriptor


@entry
def dnnl_memory_get_engine(memory: Memory) -> Engine:
    return memory.engine


@entry
def dnnl_memory_get_data_handle(memory: Memory) -> Any:
    """The handle as it was given, or the array of memory that was allocated here."""
    return memory.handle


@entry
def dnnl_memory_set_data_handle(memory: Memory, handle: Any) -> None:
    """Use other memory from now on: an address, an array, or None."""
    _check_handle(handle, memory.descriptor, memory.engine)
    memory.handle = handle


@entry
def dnnl_memory_map_data(memory: Memory) -> int | None:
    """An address where the host can read and write the tensor until it is unmapped.

    None if there is no memory. A GPU's memory is copied; writes take effect when it is unmapped.
    """
    if memory.handle is None:
        return None
    address = memory.address("memory", writable=False)
    if memory.engine.backend.memory == HOST_LOCATION.memory or not address:
        return address or None
    backend, copy = memory.engine.backend, np.empty(memory.descriptor.nbytes, np.uint8)
    backend.copy(copy.ctypes.data, address, copy.nbytes)
    backend.timer()()
    memory.mapped[copy.ctypes.data] = copy
    return copy.ctypes.data


@entry
def dnnl_memory_unmap_data(memory: Memory, mapped_ptr: int | None) -> None:
    """End what dnnl_memory_map_data began; `mapped_ptr` is its answer."""
    address = 0 if mapped_ptr is None else check_integer("mapped_ptr", mapped_ptr, 0)
    copy = memory.mapped.pop(address, None)
    if copy is not None:
        backend = memory.engine.backend
        backend.copy(memory.address("memory", writable=True), address, copy.nbytes)
        backend.timer()()


@entry
def dnnl_memory_destroy(memory: Memory | None) -> None:
    """Memory that was allocated here is given back when nothing else refers to it. None is
    accepted."""
    if memory is not None:
        memory.alive = False
        memory.handle = None
        memory.mapped.clear()
