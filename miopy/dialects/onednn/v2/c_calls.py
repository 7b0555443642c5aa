"""What C calls of version 2 do beside the work: descriptors are structs of the program."""

from __future__ import annotations

import ctypes
import functools
import inspect
from collections.abc import Callable
from typing import Any

from ....core.memory import address_of
from .. import c_calls as v3
from ..c_calls import OPTIONAL_OUTPUTS as OPTIONAL_OUTPUTS
from ..c_calls import STATUS as STATUS
from ..c_calls import log_error as log_error
from ..c_calls import tracer as tracer
from ..memory_descriptors import MemoryDescriptor
from . import primitive_descriptors
from .c_structs import descriptor_at, operation_at, rnn_struct_of, struct_of
from .operations import RnnOperation

# Named here for their types: all are addresses of bytes.
LENT = "const char *"


def written(argument: str, address: int | None, struct: ctypes.Structure) -> None:
    """Copy a struct to where the program wants it."""
    nbytes = ctypes.sizeof(struct)
    ctypes.memmove(address_of(argument, address, nbytes=nbytes), ctypes.byref(struct), nbytes)


def in_structs(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose memory descriptors are addresses of structs; one that it makes is written to
    the struct of a first parameter, one that belongs to another object is lent as bytes."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    places = [
        index
        for index, each in enumerate(parameters)
        if MemoryDescriptor.__name__ in each.annotation
    ]
    makes = {"RnnOperation": "rnn_desc"}.get(signature.return_annotation)
    if "_desc_init_by_" in function.__name__:
        makes = "memory_desc"

    @functools.wraps(function)
    def wrapper(*values: Any) -> Any:
        target, *rest = values if makes else (None, *values)
        for place in places:
            rest[place] = descriptor_at(parameters[place].name, rest[place])
        answer = function(*rest)
        if makes:
            return written(makes, target, in_c(answer))
        return bytes(in_c(answer)) if isinstance(answer, MemoryDescriptor) else answer

    own = [inspect.Parameter(makes, inspect.Parameter.POSITIONAL_OR_KEYWORD)] if makes else []
    wrapper.__signature__ = signature.replace(parameters=[*own, *parameters])  # type: ignore[attr-defined]
    return wrapper


def in_c(descriptor: MemoryDescriptor | RnnOperation) -> ctypes.Structure:
    if isinstance(descriptor, RnnOperation):
        return rnn_struct_of(descriptor)
    return struct_of(descriptor)


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
        return LENT, bytes(in_c(found))
    return v3.typed(what, found)


OF_THEIR_OWN: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (dnnl_primitive_desc_create, dnnl_primitive_desc_query)
}


def for_c(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a C call of the function calls."""
    if function.__name__ in OF_THEIR_OWN:
        return OF_THEIR_OWN[function.__name__]
    signature = inspect.signature(function)
    annotations = [each.annotation for each in signature.parameters.values()]
    if any(
        name in str(annotation)
        for name in (MemoryDescriptor.__name__, RnnOperation.__name__)
        for annotation in (*annotations, signature.return_annotation)
    ):
        return in_structs(function)
    return v3.for_c(function)
