"""The six functions that make primitive descriptors of RNNs' forward passes.

Tensors that may be absent, None or a descriptor without dimensions, stand for zeros: src_iter,
bias, weights_peephole, and dst_iter, which is then not written. Without weights_projection there is
none. Dimensions are in `rnn_tensors`, types in `rnn_types`, layouts in `rnn_layouts`.

Raise BadParam for what breaks a rule, NotSupported for types, layouts and attributes that oneDNN
does not have.
"""

from __future__ import annotations

from .attributes import Attributes
from .engine import Engine
from .entry import entry
from .memory_descriptors import MemoryDescriptor
from .primitive_descriptors import PrimitiveDescriptor
from .rnn_primitive_descriptors import create
from .types import dnnl_alg_kind_t, dnnl_prop_kind_t, dnnl_rnn_direction_t

Tensor = MemoryDescriptor | None


@entry
def dnnl_vanilla_rnn_forward_primitive_desc_create(
    engine: Engine,
    prop_kind: dnnl_prop_kind_t,
    activation: dnnl_alg_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: Tensor,
    src_iter_desc: Tensor,
    weights_layer_desc: Tensor,
    weights_iter_desc: Tensor,
    bias_desc: Tensor,
    dst_layer_desc: Tensor,
    dst_iter_desc: Tensor,
    flags: int,
    alpha: float,
    beta: float,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """h' = activation(z)."""
    return create(dnnl_alg_kind_t.dnnl_vanilla_rnn, locals())


@entry
def dnnl_lstm_forward_primitive_desc_create(
    engine: Engine,
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: Tensor,
    src_iter_desc: Tensor,
    src_iter_c_desc: Tensor,
    weights_layer_desc: Tensor,
    weights_iter_desc: Tensor,
    weights_peephole_desc: Tensor,
    weights_projection_desc: Tensor,
    bias_desc: Tensor,
    dst_layer_desc: Tensor,
    dst_iter_desc: Tensor,
    dst_iter_c_desc: Tensor,
    flags: int,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """LSTM, with peepholes and a projection if they are given."""
    return create(dnnl_alg_kind_t.dnnl_vanilla_lstm, locals())


@entry
def dnnl_gru_forward_primitive_desc_create(
    engine: Engine,
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: Tensor,
    src_iter_desc: Tensor,
    weights_layer_desc: Tensor,
    weights_iter_desc: Tensor,
    bias_desc: Tensor,
    dst_layer_desc: Tensor,
    dst_iter_desc: Tensor,
    flags: int,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """GRU, its reset gate before the product."""
    return create(dnnl_alg_kind_t.dnnl_vanilla_gru, locals())


@entry
def dnnl_lbr_gru_forward_primitive_desc_create(
    engine: Engine,
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: Tensor,
    src_iter_desc: Tensor,
    weights_layer_desc: Tensor,
    weights_iter_desc: Tensor,
    bias_desc: Tensor,
    dst_layer_desc: Tensor,
    dst_iter_desc: Tensor,
    flags: int,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """GRU, its reset gate after the product."""
    return create(dnnl_alg_kind_t.dnnl_lbr_gru, locals())


@entry
def dnnl_augru_forward_primitive_desc_create(
    engine: Engine,
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: Tensor,
    src_iter_desc: Tensor,
    attention_desc: Tensor,
    weights_layer_desc: Tensor,
    weights_iter_desc: Tensor,
    bias_desc: Tensor,
    dst_layer_desc: Tensor,
    dst_iter_desc: Tensor,
    flags: int,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """GRU whose update gate is u * (1 - attention)."""
    return create(dnnl_alg_kind_t.dnnl_vanilla_augru, locals())


@entry
def dnnl_lbr_augru_forward_primitive_desc_create(
    engine: Engine,
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: Tensor,
    src_iter_desc: Tensor,
    attention_desc: Tensor,
    weights_layer_desc: Tensor,
    weights_iter_desc: Tensor,
    bias_desc: Tensor,
    dst_layer_desc: Tensor,
    dst_iter_desc: Tensor,
    flags: int,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """The same with the reset gate after the product."""
    return create(dnnl_alg_kind_t.dnnl_lbr_augru, locals())
