"""Reorders: a tensor in another layout or of another type, quantized if the attributes say so.

Without attributes numbers become the nearest ones of the type. Attributes of RNNs make f32 into
8-bit integers: of five dimensions, weights_layer or weights_iter with their parameters; all others
with those of data, if they are set, else s8 of four dimensions, weights_projection, with its own.

The packed layout of an 8-bit RNN's weights, as its primitive descriptor gives it, is made of f32,
with the attributes of that, or of s8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.backend import MAX_DIMS
from ...core.codes import WeightScale
from ...core.strided import packed_strides
from ...errors import BadParam, NotSupported
from .attributes import Attributes, WeightScales, copy_of
from .conversion import Scales, Tensor, convert, num_walked
from .engine import Engine
from .entry import entry
from .memory_descriptors import BLOCKED, OPAQUE, MemoryDescriptor
from .primitive_descriptors import Argument, Execution, PrimitiveDescriptor
from .rnn_quantized import of_attr, pack_weights
from .types import (
    DNNL_ARG_FROM,
    DNNL_ARG_TO,
    dnnl_data_type_t,
    dnnl_primitive_kind_t,
    dnnl_query_t,
)

F32 = dnnl_data_type_t.dnnl_f32
U8, S8 = dnnl_data_type_t.dnnl_u8, dnnl_data_type_t.dnnl_s8
TYPES = (F32, dnnl_data_type_t.dnnl_bf16, dnnl_data_type_t.dnnl_f16, U8, S8)


class ReorderExecution:
    """A copy. The scales are in the scratchpad while it runs."""

    def __init__(
        self, source: MemoryDescriptor, target: MemoryDescriptor, attributes: Attributes
    ) -> None:
        self._source, self._target = source, target
        self._scales: np.ndarray[Any, Any] | None = None
        self._strides: tuple[int, ...] = ()
        self._shift = 0.0
        if attributes.quantizes:
            self._quantize(attributes)

    def _quantize(self, attributes: Attributes) -> None:
        dims, to = self._target.dims, self._target.data_type
        if self._source.data_type != F32 or to not in (U8, S8):
            raise NotSupported("attr", "must not quantize but from f32 to u8 or s8")
        parameters = attributes.weights if len(dims) == 5 else None
        if len(dims) == 4 and to == S8 and attributes.data is None:
            parameters = attributes.projection
        if parameters is not None and to == S8:
            scales = parameters.checked("attr", dims)
            outputs = dims[3:] if len(scales) > 1 else ()
            self._scales = np.array(scales, np.float32)
            self._strides = (0,) * (len(dims) - len(outputs)) + packed_strides(outputs)
        elif attributes.data is not None and len(dims) < 5:
            scale, self._shift = attributes.data
            self._scales, self._strides = np.array([scale], np.float32), (0,) * len(dims)
        else:
            raise NotSupported("attr", "must have quantization parameters of this tensor")

    @property
    def scratchpad_nbytes(self) -> int:
        return 0 if self._scales is None else self._scales.nbytes

    def execute(self, backend: Any, addresses: Mapping[str, int], scratchpad: int) -> None:
        scales = None
        if self._scales is not None:
            backend.copy(scratchpad, self._scales.ctypes.data, self._scales.nbytes)
            scales = Scales(scratchpad, self._strides, self._shift)
        source = Tensor(self._source, addresses["from"])
        convert(backend, Tensor(self._target, addresses["to"]), source, scales)


class PackExecution:
    """Weights of f32 or s8 as an 8-bit RNN reads them."""

    scratchpad_nbytes = 0

    def __init__(self, source: MemoryDescriptor, attributes: Attributes) -> None:
        self._source = source
        self._scales: WeightScale | None = None
        if source.data_type == F32:
            given = attributes.weights if len(source.dims) == 5 else attributes.projection
            scales = (given or WeightScales()).checked("attr", source.dims)
            self._scales = of_attr(WeightScale, scales)

    def execute(self, backend: Any, addresses: Mapping[str, int], scratchpad: int) -> None:
        source = Tensor(self._source, addresses["from"])
        pack_weights(backend, addresses["to"], source, self._scales)


def _execution(
    source: MemoryDescriptor, target: MemoryDescriptor, attributes: Attributes
) -> Execution:
    if target.format_kind == OPAQUE:
        return PackExecution(source, attributes)
    return ReorderExecution(source, target, attributes)


def _check_layouts(source: MemoryDescriptor, target: MemoryDescriptor) -> None:
    """Raise BadParam or NotSupported unless both layouts are known, and elements of the target
    apart."""
    if target.format_kind == OPAQUE:
        if source.data_type not in (F32, S8):
            raise NotSupported("src_desc", "must be of f32 or s8", source.data_type.name)
    elif target.format_kind != BLOCKED:
        raise BadParam("dst_desc", "must have a plain or packed layout", target.format_kind.name)
    elif target.repeats:
        raise NotSupported("dst_desc", "must not repeat elements", target.strides)
    if source.format_kind == OPAQUE:
        raise NotSupported("src_desc", "must not be packed")
    if source.format_kind != BLOCKED:
        raise BadParam("src_desc", "must have a plain layout", source.format_kind.name)


@entry
def dnnl_reorder_primitive_desc_create(
    src_desc: MemoryDescriptor,
    src_engine: Engine,
    dst_desc: MemoryDescriptor,
    dst_engine: Engine,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """A copy of a tensor; execution takes DNNL_ARG_FROM and DNNL_ARG_TO.

    BadParam unless both have the same dimensions and a known layout; NotSupported for s32, f64 and
    engines of different kinds.
    """
    if src_desc.dims != dst_desc.dims:
        raise BadParam("dst_desc", f"must have the dimensions {src_desc.dims}", dst_desc.dims)
    for argument, each in (("src_desc", src_desc), ("dst_desc", dst_desc)):
        if each.has_runtime_values:
            raise NotSupported(argument, "must not have runtime dimensions or strides")
        if each.data_type not in TYPES:
            raise NotSupported(argument, "must be of f32, bf16, f16, u8 or s8", each.data_type.name)
    _check_layouts(src_desc, dst_desc)
    if src_engine.kind != dst_engine.kind:
        raise NotSupported("dst_engine", f"must be of kind {src_engine.kind.name}")
    is_plain = dst_desc.format_kind == BLOCKED
    if is_plain and dst_desc.num_elements and num_walked(src_desc, dst_desc) > MAX_DIMS:
        rule = f"must come down to at most {MAX_DIMS} dimensions"
        raise NotSupported("src_desc", rule, src_desc.dims)
    source, target, attributes = src_desc.copy(), dst_desc.copy(), copy_of(attr)
    return PrimitiveDescriptor(
        dnnl_primitive_kind_t.dnnl_reorder,
        dst_engine,
        attributes,
        _execution(source, target, attributes),
        {
            DNNL_ARG_FROM: Argument("from", "DNNL_ARG_FROM", source, False),
            DNNL_ARG_TO: Argument("to", "DNNL_ARG_TO", target, True),
        },
        {
            dnnl_query_t.dnnl_query_reorder_src_engine: src_engine,
            dnnl_query_t.dnnl_query_reorder_dst_engine: dst_engine,
        },
        {
            dnnl_query_t.dnnl_query_src_md: [source],
            dnnl_query_t.dnnl_query_dst_md: [target],
        },
    )
