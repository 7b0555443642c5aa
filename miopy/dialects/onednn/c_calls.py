"""What C calls of this dialect do beside the work: statuses, types of queries and logs.

ONEDNN_VERBOSE   1, 2, check and all say on stderr what was wrong with a call; all says each call
                 and its arguments, too. Several are separated by commas.

It is read once, when Python starts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from ...calls import logs
from ...calls.arguments import check_live
from . import memory_descriptors, primitive_descriptors, primitives, types
from .engine import Stream
from .entry import STATUS as STATUS
from .entry import entry
from .memory import Memory
from .memory_descriptors import MemoryDescriptor
from .primitive_descriptors import PrimitiveDescriptor
from .primitives import Primitive
from .types import DNNL_MAX_NDIMS, dnnl_query_t

OPTIONAL_OUTPUTS: frozenset[str] = frozenset()

VERBOSE = set(os.environ.get("ONEDNN_VERBOSE", "").split(","))
ERRORS_ARE_LOGGED = bool(VERBOSE & {"1", "2", "check", "all"})
CALLS_ARE_LOGGED = "all" in VERBOSE

# C types of what queries find, by the last part of their names, or all of it.
BY_LAST_PART = {
    "engine": "dnnl_engine_t",
    "s32": "int",
    "s64": "dnnl_dim_t",
    "f32": "float",
    "f64": "double",
    "str": "const char *",
    "md": "const_dnnl_memory_desc_t",
}
BY_NAME = {
    "flags": "unsigned",
    "primitive_kind": "dnnl_primitive_kind_t",
    "prop_kind": "dnnl_prop_kind_t",
    "cell_kind": "dnnl_alg_kind_t",
    "activation_kind": "dnnl_alg_kind_t",
    "direction": "dnnl_rnn_direction_t",
    "data_type": "dnnl_data_type_t",
    "format_kind": "dnnl_format_kind_t",
}
DIMS = "const dnnl_dim_t *"


def log_error(message: str, error: BaseException) -> None:
    """Say what was wrong, if that is asked for; miopyGetLastError tells it anyway."""
    if ERRORS_ARE_LOGGED:
        logs.say(f"oneDNN Error: {message}", sys.stderr)


def typed(what: int, value: Any) -> tuple[str, Any]:
    """The C type of what a query has found, and the value; dnnl_dims_t is filled with zeros."""
    name = dnnl_query_t(what).name.removeprefix("dnnl_query_")
    c_type = BY_NAME.get(name) or BY_LAST_PART.get(name.rpartition("_")[2], DIMS)
    if c_type == DIMS:
        value = (*value, *(0,) * (DNNL_MAX_NDIMS - len(value)))
    return c_type, value


def dnnl_memory_desc_query(memory_desc: MemoryDescriptor, what: dnnl_query_t) -> tuple[str, Any]:
    """As from Python, with the C type."""
    return typed(what, memory_descriptors.dnnl_memory_desc_query(memory_desc, what))


def dnnl_primitive_desc_query(
    primitive_desc: PrimitiveDescriptor, what: dnnl_query_t, index: int
) -> tuple[str, Any]:
    """The same."""
    found = primitive_descriptors.dnnl_primitive_desc_query(primitive_desc, what, index)
    return typed(what, found)


@entry
def dnnl_memory_get_data_handle(memory: Memory) -> int | None:
    """As from Python, but always an address."""
    if memory.handle is None or isinstance(memory.handle, int):
        return memory.handle
    return memory.address("memory", writable=False)


@entry
def dnnl_primitive_execute(
    primitive: Primitive, stream: Stream, nargs: int, args: Sequence[tuple[int, Any]] | None
) -> None:
    """As from Python, but with memory objects alone; NULL is none."""
    for number, memory in args or ():
        if memory is not None:
            check_live(f"args[{number}]", memory, Memory)
    primitives.dnnl_primitive_execute(primitive, stream, nargs, args or ())


OF_THEIR_OWN: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        dnnl_memory_desc_query,
        dnnl_primitive_desc_query,
        dnnl_memory_get_data_handle,
        dnnl_primitive_execute,
    )
}


def for_c(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a C call of the function calls."""
    return OF_THEIR_OWN.get(function.__name__, function)


def tracer(
    name: str, parameters: Sequence[tuple[str, str]], enumerations: ModuleType = types
) -> Callable[..., None] | None:
    """What logs a call and its numbers; None if calls are not logged."""
    head = f"dnnl_status_t {name}"
    return logs.tracer(head, parameters, enumerations) if CALLS_ARE_LOGGED else None
