"""The descriptors of version 2 as C programs have them: plain structs in the program's memory."""

from __future__ import annotations

import ctypes

from ....calls.arguments import check_enum
from ....core.memory import address_of
from ....errors import BadParam, MiopyError, NotSupported
from ..memory_descriptors import ANY, BLOCKED, OPAQUE, UNDEFINED, MemoryDescriptor
from ..rnn_quantized import packed_descriptor
from ..rnn_tensors import ATTENTIVE
from ..types import DNNL_MAX_NDIMS, dnnl_data_type_t, dnnl_format_tag_t
from .memory_descriptors import with_strides, with_tag
from .operations import BACKWARD, VANILLA, RnnOperation, backward, cells, forward
from .types import dnnl_alg_kind_t, dnnl_primitive_kind_t

Dims = ctypes.c_int64 * DNNL_MAX_NDIMS
RNN_PACKED = 4  # dnnl_format_kind_rnn_packed: what version 3 calls opaque
FORMAT_KINDS = {UNDEFINED: 0, ANY: 1, BLOCKED: 2, OPAQUE: RNN_PACKED}


class Blocking(ctypes.Structure):
    _fields_ = (
        ("strides", Dims),
        ("inner_nblks", ctypes.c_int),
        ("inner_blks", Dims),
        ("inner_idxs", Dims),
    )


class RnnPacked(ctypes.Structure):
    """A dnnl_rnn_packed_desc_t, of which only the size counts."""

    _fields_ = (
        ("format", ctypes.c_int * 8),  # and its parts
        ("part_pack_size", ctypes.c_size_t * 4),
        ("pack_part", ctypes.c_uint * 4),
        ("offset_compensation", ctypes.c_size_t),
        ("size", ctypes.c_size_t),
        ("reserved", ctypes.c_char * 200),
    )


class Format(ctypes.Union):
    _fields_ = (("blocking", Blocking), ("rnn_packed", RnnPacked))


class Extra(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("compensation_mask", ctypes.c_int),
        ("scale_adjust", ctypes.c_float),
        ("asymm_compensation_mask", ctypes.c_int),
        ("reserved", ctypes.c_char * 60),
    )


class MemoryDesc(ctypes.Structure):
    """A dnnl_memory_desc_t."""

    _fields_ = (
        ("ndims", ctypes.c_int),
        ("dims", Dims),
        ("data_type", ctypes.c_int),
        ("padded_dims", Dims),
        ("padded_offsets", Dims),
        ("offset0", ctypes.c_int64),
        ("format_kind", ctypes.c_int),
        ("format", Format),
        ("extra", Extra),
    )


# The tensors of an operation, in the struct's order; AUGRU's attention is where peepholes are.
SLOTS = (
    *("src_layer", "src_iter", "src_iter_c", "weights_layer", "weights_iter", "bias"),
    *("dst_layer", "dst_iter", "dst_iter_c", "weights_peephole", "weights_projection"),
)
ALL_SLOTS = (*SLOTS, *(f"diff_{name}" for name in SLOTS))


class RnnDesc(ctypes.Structure):
    """A dnnl_rnn_desc_t."""

    _fields_ = (
        ("primitive_kind", ctypes.c_int),
        ("prop_kind", ctypes.c_int),
        ("cell_kind", ctypes.c_int),
        ("direction", ctypes.c_int),
        *((name, MemoryDesc) for name in ALL_SLOTS),
        ("flags", ctypes.c_uint),
        ("activation_kind", ctypes.c_int),
        ("alpha", ctypes.c_float),
        ("beta", ctypes.c_float),
    )


def descriptor_at(argument: str, address: int | None) -> MemoryDescriptor | None:
    """The memory descriptor of a struct of the program; None for NULL."""
    if address is None:
        return None
    place = address_of(argument, address, nbytes=ctypes.sizeof(MemoryDesc))
    return descriptor_of(argument, MemoryDesc.from_address(place))


def descriptor_of(argument: str, struct: MemoryDesc) -> MemoryDescriptor:
    """The memory descriptor that a struct says. BadParam or NotSupported for what no function of
    ours writes."""
    try:
        return _described(struct)
    except MiopyError as error:
        value = (error.value,) if error.has_value else ()
        raise type(error)(argument, f"has {error.argument}, which {error.rule}", *value) from None


def _described(struct: MemoryDesc) -> MemoryDescriptor:
    ndims, kind = struct.ndims, struct.format_kind
    for name, value in (("offset0", struct.offset0), ("extra.flags", struct.extra.flags)):
        if value:
            raise NotSupported(name, "must be 0", value)
    if ndims and kind not in (FORMAT_KINDS[ANY], FORMAT_KINDS[BLOCKED], RNN_PACKED):
        raise BadParam("format_kind", "must be any, blocked or rnn_packed", kind)
    if kind == FORMAT_KINDS[ANY]:
        undecided = dnnl_format_tag_t.dnnl_format_tag_any
        return with_tag(ndims, struct.dims, struct.data_type, undecided)
    blocking = struct.format.blocking
    if kind == FORMAT_KINDS[BLOCKED] and blocking.inner_nblks:
        raise NotSupported("inner_nblks", "must be 0", blocking.inner_nblks)
    strides = blocking.strides if kind == FORMAT_KINDS[BLOCKED] else None
    plain = with_strides(ndims, struct.dims, struct.data_type, strides)
    _check_padding(struct, plain.dims)
    return _packed(plain, struct.format.rnn_packed.size) if kind == RNN_PACKED else plain


def _check_padding(struct: MemoryDesc, dims: tuple[int, ...]) -> None:
    """Raise NotSupported unless a tensor ends where its dimensions say."""
    padded, offsets = struct.padded_dims[: len(dims)], struct.padded_offsets[: len(dims)]
    if tuple(padded) != dims:
        raise NotSupported("padded_dims", "must be dims", padded)
    if any(offsets):
        raise NotSupported("padded_offsets", "must be 0", offsets)


def _packed(plain: MemoryDescriptor, size: int) -> MemoryDescriptor:
    """Of weights in our own format; the size must be right."""
    ranks = (4, 5)  # of projections, of other weights
    if len(plain.dims) not in ranks or plain.data_type != dnnl_data_type_t.dnnl_s8:
        raise BadParam("format_kind", "must not be rnn_packed but for weights of s8")
    packed = packed_descriptor(plain.dims)
    if packed.opaque_size != size:
        raise BadParam("size", f"must be {packed.opaque_size}", size)
    return packed


def struct_of(descriptor: MemoryDescriptor) -> MemoryDesc:
    """The struct that says a memory descriptor."""
    struct, ndims = MemoryDesc(), len(descriptor.dims)
    struct.ndims, struct.data_type = ndims, descriptor.data_type
    struct.dims[:ndims] = struct.padded_dims[:ndims] = descriptor.dims
    struct.format_kind = FORMAT_KINDS[descriptor.format_kind]
    if descriptor.format_kind == BLOCKED:
        struct.format.blocking.strides[:ndims] = descriptor.strides
    elif descriptor.format_kind == OPAQUE:
        struct.format.rnn_packed.size = descriptor.opaque_size
    return struct


def _slot(name: str, cell_kind: cells) -> str:
    """Where a tensor is in a dnnl_rnn_desc_t."""
    if cell_kind in ATTENTIVE:
        return name.replace("attention", "weights_peephole")
    return name


def rnn_struct_of(operation: RnnOperation) -> RnnDesc:
    """The struct that says an operation."""
    struct, descriptor = RnnDesc(), operation.descriptor
    struct.primitive_kind, struct.prop_kind = operation.primitive_kind, operation.prop_kind
    struct.cell_kind, struct.direction = operation.cell_kind, operation.direction
    struct.activation_kind = operation.activation_kind
    struct.alpha, struct.beta = operation.alpha, operation.beta
    for name, tensor in descriptor.tensors.items():
        setattr(struct, _slot(name, descriptor.cell_kind), struct_of(tensor))
    return struct


def operation_at(argument: str, address: int | None) -> RnnOperation:
    """The operation of a struct of the program, which is checked anew."""
    place = address_of(argument, address, nbytes=ctypes.sizeof(RnnDesc))
    struct = RnnDesc.from_address(place)
    if struct.primitive_kind != dnnl_primitive_kind_t.dnnl_rnn:
        raise BadParam(argument, "must be of a dnnl_rnn_desc_t", struct.primitive_kind)
    kind = cells[check_enum(f"{argument}.cell_kind", dnnl_alg_kind_t, struct.cell_kind).name]
    given = {name: getattr(struct, name) for name in ("prop_kind", "direction", "alpha", "beta")}
    given["flags"] = struct.flags
    if kind == VANILLA:
        given["activation"] = struct.activation_kind
    for slot in ALL_SLOTS:
        name = slot.replace("weights_peephole", "attention") if kind in ATTENTIVE else slot
        tensor = descriptor_of(f"{argument}.{slot}_desc", getattr(struct, slot))
        given[f"{name}_desc"] = tensor if tensor.dims else None
    return (backward if struct.prop_kind == BACKWARD else forward)(kind, given)
