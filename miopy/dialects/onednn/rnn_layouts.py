"""Layouts of RNN tensors: which are accepted, which is chosen for `any`, which the core runs on.

    layer data, attention   tnc, ntc, any other strides with adjacent channels; any is tnc
    states                  ldnc, any other strides with adjacent channels; any is ldnc
    weights_layer, _iter    ldigo or ldgoi, with gaps or without; any is ldgoi
    weights_projection      ldio or ldoi, with gaps or without; any is ldoi
    peepholes, bias         ldgo without gaps, which any is too

The same in forward and backward, and for diff tensors. Matrices that are left open have adjacent
inputs because a few rows then meet them where they lie. What the core does not run on as it is, is
copied to or from the scratchpad: layer data and states with gaps, and all of another type than is
computed with.
"""

from __future__ import annotations

from typing import NamedTuple

from ...errors import NotSupported
from .memory_descriptors import ANY, BLOCKED, MemoryDescriptor, dense
from .rnn_tensors import forward_name
from .types import dnnl_data_type_t

LAYER_DATA = ("src_layer", "dst_layer", "attention")
MATRICES = ("weights_layer", "weights_iter", "weights_projection")
VECTORS = ("weights_peephole", "bias")
NTC = "bac"
INPUTS_LAST = {5: "abdec", 4: "abdc"}  # ldgoi and ldoi, by dimensions of weights


class MatrixStrides(NamedTuple):
    """Strides of the matrices of a tensor of weights: all gates of a layer and direction are one
    matrix, a row for each output of each gate, a column for each input."""

    layer: int
    direction: int
    output: int
    input: int


def resolved(name: str, descriptor: MemoryDescriptor) -> MemoryDescriptor:
    """The descriptor with its layout chosen, if that was left open.

    Raises NotSupported for a layout that is not accepted.
    """
    argument = f"{name}_desc"
    kind = forward_name(name)
    if descriptor.format_kind == ANY:
        order = INPUTS_LAST[len(descriptor.dims)] if kind in MATRICES else None
        return dense(descriptor.dims, descriptor.data_type, order)
    if descriptor.format_kind != BLOCKED:
        raise NotSupported(argument, "must have a plain layout, or any")
    if descriptor.repeats:
        raise NotSupported(argument, "must not repeat elements", descriptor.strides)
    if kind in VECTORS:
        if not descriptor.equals(dense(descriptor.dims, descriptor.data_type)):
            raise NotSupported(argument, "must be dense ldgo", descriptor.strides)
    elif kind in MATRICES:
        if descriptor.num_elements and _matrix_strides(descriptor) is None:
            rule = "must have adjacent outputs of adjacent gates, or adjacent inputs"
            raise NotSupported(argument, rule, descriptor.strides)
    elif descriptor.dims[-1] > 1 and descriptor.strides[-1] != 1:
        raise NotSupported(argument, "must have adjacent channels", descriptor.strides)
    return descriptor


def matrix_strides(descriptor: MemoryDescriptor) -> MatrixStrides:
    """Of a descriptor that `resolved` has accepted."""
    return _matrix_strides(descriptor) or MatrixStrides(0, 0, 1, 1)


def _matrix_strides(descriptor: MemoryDescriptor) -> MatrixStrides | None:
    """None if the outputs of all gates do not follow one another, or nothing is adjacent."""
    dims, strides = list(descriptor.dims), list(descriptor.strides)
    if len(dims) == 4:  # a projection has no axis of gates
        dims.insert(3, 1)
        strides.insert(3, 0)
    _, _, inputs, gates, outputs = dims
    layer, direction, of_input, of_gate, of_output = strides
    if outputs == 1:
        of_output = of_gate if gates > 1 else 1
    elif gates > 1 and of_gate != outputs * of_output:
        return None
    if inputs == 1:
        of_input = gates * outputs if of_output == 1 else 1
    if 1 not in (of_output, of_input):
        return None
    return MatrixStrides(layer, direction, of_output, of_input)


def is_batch_major(descriptor: MemoryDescriptor) -> bool:
    """Whether layer data is a dense ntc, and no tnc as well."""
    dims, data_type = descriptor.dims, descriptor.data_type
    is_tnc = descriptor.equals(dense(dims, data_type))
    return not is_tnc and descriptor.equals(dense(dims, data_type, NTC))


def is_native(name: str, descriptor: MemoryDescriptor, dtype: str) -> bool:
    """Whether the core, computing with `dtype`, runs on a tensor of a resolved descriptor as it
    is."""
    if descriptor.element_type.name != dtype:
        return False
    kind = forward_name(name)
    if kind in MATRICES or kind in VECTORS:
        return True
    is_dense = descriptor.equals(dense(descriptor.dims, descriptor.data_type))
    return is_dense or (kind in LAYER_DATA and is_batch_major(descriptor))


def dense_copy(
    name: str, descriptor: MemoryDescriptor, data_type: dnnl_data_type_t
) -> MemoryDescriptor:
    """Without gaps and of this type; matrices keep the order of their axes."""
    turned = forward_name(name) in MATRICES and matrix_strides(descriptor).output != 1
    order = INPUTS_LAST[len(descriptor.dims)] if turned else None
    return dense(descriptor.dims, data_type, order)
