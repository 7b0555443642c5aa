"""What C calls of version 2 do beside the work: descriptors are structs of the program."""

from __future__ import annotations

import ctypes
import functools
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ....core.memory import address_of
from .. import c_calls as v3
from ..c_calls import OPTIONAL_OUTPUTS as OPTIONAL_OUTPUTS
from ..c_calls import STATUS as STATUS
from ..c_calls import log_error as log_error
from ..memory_descriptors import MemoryDescriptor
from . import primitive_descriptors
from .c_structs import descriptor_at, operation_at, rnn_struct_of, struct_of
from .operations import RnnOperation

ADDRESS_OF_BYTES = "const char *"  # the C type of what a query lends: a struct, byte by byte


def in_c(descriptor: MemoryDescriptor | RnnOperation) -> ctypes.Structure:
    """The struct that says the same."""
    if isinstance(descriptor, RnnOperation):
        return rnn_struct_of(descriptor)
    return struct_of(descriptor)


def write(argument: str, address: int | None, descriptor: MemoryDescriptor | RnnOperation) -> None:
    """Put a descriptor where the program wants it."""
    struct = in_c(descriptor)
    nbytes = ctypes.sizeof(struct)
    ctypes.memmove(address_of(argument, address, nbytes=nbytes), ctypes.byref(struct), nbytes)


def target_of(function: Callable[..., Any]) -> str | None:
    """The parameter for the struct that a function fills, which is C's first."""
    if "_desc_init_by_" in function.__name__:
        return "memory_desc"
    return "rnn_desc" if "_desc_init" in function.__name__ else None


def in_structs(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with addresses of structs for memory descriptors: those that it takes, and one
    that it makes. What belongs to another object is given as bytes."""
    signature, target = inspect.signature(function), target_of(function)
    parameters = list(signature.parameters.values())
    places = [
        (index, each.name)
        for index, each in enumerate(parameters)
        if MemoryDescriptor.__name__ in each.annotation
    ]

    @functools.wraps(function)
    def wrapper(*values: Any) -> Any:
        given = list(values[1:] if target else values)
        for index, name in places:
            given[index] = descriptor_at(name, given[index])
        answer = function(*given)
        if target:
            return write(target, values[0], answer)
        return bytes(in_c(answer)) if isinstance(answer, MemoryDescriptor) else answer

    if target:
        own = inspect.Parameter(target, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters.insert(0, own)
    wrapper.__dict__["__signature__"] = signature.replace(parameters=parameters)
    return wrapper


def dnnl_primitive_desc_create(
    op_desc: int | None, attr: Any, engine: Any, hint_forward_primitive_desc: Any
) -> Any:
    """As from Python, with an operation descriptor of the program."""
    operation = operation_at("op_desc", op_desc)
    create = primitive_descriptors.dnnl_primitive_desc_create
    return create(operation, attr, engine, hint_forward_primitive_desc)


def dnnl_primitive_desc_query(primitive_desc: Any, what: Any, index: int) -> tuple[str, Any]:
    """As from Python, with the C type."""
    found = primitive_descriptors.dnnl_primitive_desc_query(primitive_desc, what, index)
    if isinstance(found, MemoryDescriptor | RnnOperation):
        return ADDRESS_OF_BYTES, bytes(in_c(found))
    return v3.typed(what, found)


OF_THEIR_OWN: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (dnnl_primitive_desc_create, dnnl_primitive_desc_query)
}


def for_c(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a C call of the function calls."""
    if function.__name__ in OF_THEIR_OWN:
        return OF_THEIR_OWN[function.__name__]
    if MemoryDescriptor.__name__ in str(inspect.signature(function)):
        return in_structs(function)
    return v3.for_c(function)


def tracer(name: str, parameters: Sequence[tuple[str, str]]) -> Callable[..., None] | None:
    """As in version 3, with the values of version 2."""
    return v3.tracer(name, parameters, importlib.import_module(__package__))
