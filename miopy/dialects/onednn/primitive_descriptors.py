"""Primitive descriptors: what a primitive does, on which tensors, and the queries that tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol

from ...calls.arguments import check_enum, check_integer
from ...errors import MiopyError, NotSupported
from .attributes import Attributes
from .engine import Engine
from .entry import entry
from .memory_descriptors import MemoryDescriptor, dense
from .types import (
    DNNL_ARG_SCRATCHPAD,
    DNNL_ARG_WORKSPACE,
    dnnl_data_type_t,
    dnnl_primitive_kind_t,
    dnnl_query_t,
    dnnl_scratchpad_mode_t,
    dnnl_status_t,
)

USER = dnnl_scratchpad_mode_t.dnnl_scratchpad_mode_user


class Execution(Protocol):
    """What a primitive does when it is executed."""

    @property
    def scratchpad_nbytes(self) -> int: ...

    def execute(self, backend: Any, addresses: Mapping[str, int], scratchpad: int) -> None:
        """Run on the arguments at these addresses, by name."""


class Argument(NamedTuple):
    """An argument of execution.

    macro        its DNNL_ARG, in messages
    descriptor   None of one without which execution always fails
    """

    name: str
    macro: str
    descriptor: MemoryDescriptor | None
    is_output: bool


@dataclass(eq=False, slots=True)
class PrimitiveDescriptor:
    """What dnnl_*_primitive_desc_create returns.

    arguments   of execution by their numbers, but for the scratchpad
    values      answers of queries
    lists       memory descriptors by query, in the order of their index
    """

    c_name: ClassVar[str] = "dnnl_primitive_desc_t"

    kind: dnnl_primitive_kind_t
    engine: Engine
    attributes: Attributes
    execution: Execution
    arguments: dict[int, Argument]
    values: dict[dnnl_query_t, Any] = field(default_factory=dict)
    lists: dict[dnnl_query_t, list[MemoryDescriptor]] = field(default_factory=dict)
    alive: bool = True

    @property
    def scratchpad(self) -> MemoryDescriptor:
        """Of the caller's scratchpad; without dimensions if the library has its own."""
        if self.attributes.scratchpad_mode != USER:
            return MemoryDescriptor()
        return bytes_descriptor(self.execution.scratchpad_nbytes)

    def argument(self, number: int) -> MemoryDescriptor:
        """The descriptor of an argument of execution; without dimensions if there is none."""
        if number == DNNL_ARG_SCRATCHPAD:
            return self.scratchpad
        known = self.arguments.get(number)
        return MemoryDescriptor() if known is None else known.descriptor or MemoryDescriptor()

    def memory_descriptor(self, what: dnnl_query_t, index: int) -> MemoryDescriptor | None:
        """The answer of a query for one; None if it is no such query."""
        if what == dnnl_query_t.dnnl_query_exec_arg_md:
            return self.argument(index)
        if what == dnnl_query_t.dnnl_query_scratchpad_md:
            return self.scratchpad if index == 0 else MemoryDescriptor()
        if what == dnnl_query_t.dnnl_query_workspace_md:
            return self.argument(DNNL_ARG_WORKSPACE) if index == 0 else MemoryDescriptor()
        if not dnnl_query_t.dnnl_query_some_md < what < dnnl_query_t.dnnl_query_exec_arg_md:
            return None
        known = self.lists.get(what, [])
        return known[index] if index < len(known) else MemoryDescriptor()


def bytes_descriptor(nbytes: int) -> MemoryDescriptor:
    """Of an opaque buffer; without dimensions if it is empty."""
    return dense((nbytes,), dnnl_data_type_t.dnnl_u8) if nbytes else MemoryDescriptor()


@entry
def dnnl_primitive_desc_query(
    primitive_desc: PrimitiveDescriptor, what: dnnl_query_t, index: int = 0
) -> Any:
    """The answer of a query: an integer, an enumerator, a number, a text, an engine or a memory
    descriptor.

    NotSupported if the primitive descriptor does not answer it; RNNs do not answer flags.
    """
    return _answer(primitive_desc, check_enum("what", dnnl_query_t, what), index)


def _answer(primitive_desc: PrimitiveDescriptor, query: dnnl_query_t, index: int) -> Any:
    descriptor = primitive_desc.memory_descriptor(query, check_integer("index", index, 0))
    if descriptor is not None:
        return descriptor
    outputs = [each.is_output for each in primitive_desc.arguments.values() if each.descriptor]
    answers = {
        dnnl_query_t.dnnl_query_engine: primitive_desc.engine,
        dnnl_query_t.dnnl_query_scratchpad_engine: primitive_desc.engine,
        dnnl_query_t.dnnl_query_primitive_kind: primitive_desc.kind,
        dnnl_query_t.dnnl_query_num_of_inputs_s32: outputs.count(False),
        dnnl_query_t.dnnl_query_num_of_outputs_s32: outputs.count(True),
        dnnl_query_t.dnnl_query_impl_info_str: f"miopy:{primitive_desc.engine.backend.name}",
        dnnl_query_t.dnnl_query_memory_consumption_s64: _own_memory(primitive_desc),
        **primitive_desc.values,
    }
    if query not in answers:
        raise NotSupported("what", "must be a query that this primitive answers", query.name)
    return answers[query]


def _own_memory(primitive_desc: PrimitiveDescriptor) -> int:
    """Bytes that the library allocates for the primitive."""
    is_users = primitive_desc.attributes.scratchpad_mode == USER
    return 0 if is_users else primitive_desc.execution.scratchpad_nbytes


@entry
def dnnl_primitive_desc_query_md(
    primitive_desc: PrimitiveDescriptor, what: dnnl_query_t, index: int = 0
) -> MemoryDescriptor | None:
    """The memory descriptor of a tensor, its layout chosen; without dimensions if it is absent.

    It belongs to the primitive descriptor: not to be destroyed. None if `what` is no such query.

    index   of dnnl_query_exec_arg_md, a DNNL_ARG; of src and dst, 0 layer, 1 iter, 2 iter_c; of
            weights, 0 layer, 1 iter, then those that are present of peephole, projection and bias
    """
    query = check_enum("what", dnnl_query_t, what)
    return primitive_desc.memory_descriptor(query, check_integer("index", index, 0))


@entry
def dnnl_primitive_desc_query_s32(
    primitive_desc: PrimitiveDescriptor, what: dnnl_query_t, index: int = 0
) -> int:
    """The answer of a query that is an integer, 0 if there is none."""
    query = check_enum("what", dnnl_query_t, what)
    if query not in (
        dnnl_query_t.dnnl_query_num_of_inputs_s32,
        dnnl_query_t.dnnl_query_num_of_outputs_s32,
    ):
        return 0
    return int(_answer(primitive_desc, query, index))


@entry
def dnnl_primitive_desc_get_attr(primitive_desc: PrimitiveDescriptor) -> Attributes:
    """The primitive descriptor's own: not to be changed or destroyed."""
    return primitive_desc.attributes


@entry
def dnnl_primitive_desc_next_impl(primitive_desc: PrimitiveDescriptor) -> None:
    """There is one implementation of everything: raises with status dnnl_last_impl_reached."""
    rule = "must have a further implementation"
    raise MiopyError("primitive_desc", rule, status=dnnl_status_t.dnnl_last_impl_reached)


@entry
def dnnl_primitive_desc_clone(
    existing_primitive_desc: PrimitiveDescriptor,
) -> PrimitiveDescriptor:
    return replace(existing_primitive_desc)


@entry
def dnnl_primitive_desc_destroy(primitive_desc: PrimitiveDescriptor | None) -> None:
    """Primitives that were made of it do not need it any more. None is accepted."""
    if primitive_desc is not None:
        primitive_desc.alive = False
