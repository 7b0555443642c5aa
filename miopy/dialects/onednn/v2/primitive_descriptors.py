"""Primitive descriptors in the words of version 2: made of an operation, with fewer queries."""

from __future__ import annotations

from typing import Any

from ....calls.arguments import check_enum
from ....errors import NotSupported
from .. import primitive_descriptors as v3
from ..attributes import Attributes
from ..engine import Engine
from ..entry import entry
from ..memory_descriptors import MemoryDescriptor
from ..primitive_descriptors import PrimitiveDescriptor
from ..rnn_execution import RnnExecution
from ..rnn_primitive_descriptors import rnn_primitive_descriptor
from ..rnn_quantized import QuantizedExecution
from .operations import PROP_KINDS, RnnOperation
from .types import dnnl_primitive_kind_t, dnnl_query_t, in_version_3


@entry
def dnnl_primitive_desc_create(
    op_desc: RnnOperation,
    attr: Attributes | None,
    engine: Engine,
    hint_forward_primitive_desc: PrimitiveDescriptor | None = None,
) -> PrimitiveDescriptor:
    """What an operation is on an engine.

    attr                          None for the defaults
    hint_forward_primitive_desc   of backward operations; not looked at

    Raises NotSupported for prop_kinds, layouts and attributes that RNNs do not have.
    """
    if op_desc.prop_kind not in PROP_KINDS:
        raise NotSupported("op_desc", "must have a prop_kind of RNNs", op_desc.prop_kind)
    return rnn_primitive_descriptor(engine, op_desc.descriptor, attr)


@entry
def dnnl_primitive_desc_query(
    primitive_desc: PrimitiveDescriptor, what: dnnl_query_t, index: int = 0
) -> Any:
    """The answer of a query: an integer, an enumerator, a text, an engine, a memory descriptor or,
    for dnnl_query_rnn_d, an operation.

    NotSupported if the primitive descriptor does not answer it.
    """
    query = check_enum("what", dnnl_query_t, what)
    if query == dnnl_query_t.dnnl_query_rnn_d:
        return _operation(primitive_desc)
    known = in_version_3("what", dnnl_query_t, query)
    answer = v3.dnnl_primitive_desc_query(primitive_desc, known, index)
    if query == dnnl_query_t.dnnl_query_primitive_kind:
        return dnnl_primitive_kind_t[answer.name]
    return answer


def _operation(primitive_desc: PrimitiveDescriptor) -> RnnOperation:
    execution = primitive_desc.execution
    if not isinstance(execution, RnnExecution | QuantizedExecution):
        raise NotSupported("what", "must be a query that this primitive answers")
    descriptor = execution.descriptor
    return RnnOperation(descriptor, descriptor.settings.prop_kind)


@entry
def dnnl_primitive_desc_query_md(
    primitive_desc: PrimitiveDescriptor, what: dnnl_query_t, index: int = 0
) -> MemoryDescriptor | None:
    """The memory descriptor of a tensor, its layout chosen; without dimensions if it is absent.

    None if `what` is no such query. Indices are those of version 3.
    """
    known = in_version_3("what", dnnl_query_t, what)
    return v3.dnnl_primitive_desc_query_md(primitive_desc, known, index)


@entry
def dnnl_primitive_desc_query_s32(
    primitive_desc: PrimitiveDescriptor, what: dnnl_query_t, index: int = 0
) -> int:
    """The answer of a query that is an integer, 0 if there is none."""
    known = in_version_3("what", dnnl_query_t, what)
    return v3.dnnl_primitive_desc_query_s32(primitive_desc, known, index)
