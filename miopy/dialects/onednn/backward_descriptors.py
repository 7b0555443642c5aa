"""The six functions that make primitive descriptors of RNNs' backward passes.

Absent tensors and errors are as in `forward_descriptors`; a tensor and its diff tensor are both
there or both absent. hint_fwd_pd is not looked at. Gradients of parameters are added to what diff
tensors hold, unless `flags` has diff_weights_overwrite; those of data and states are overwritten.
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
def dnnl_vanilla_rnn_backward_primitive_desc_create(
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
    diff_src_layer_desc: Tensor,
    diff_src_iter_desc: Tensor,
    diff_weights_layer_desc: Tensor,
    diff_weights_iter_desc: Tensor,
    diff_bias_desc: Tensor,
    diff_dst_layer_desc: Tensor,
    diff_dst_iter_desc: Tensor,
    flags: int,
    alpha: float,
    beta: float,
    hint_fwd_pd: PrimitiveDescriptor | None = None,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """h' = activation(z)."""
    return create(dnnl_alg_kind_t.dnnl_vanilla_rnn, locals(), backward=True)


@entry
def dnnl_lstm_backward_primitive_desc_create(
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
    diff_src_layer_desc: Tensor,
    diff_src_iter_desc: Tensor,
    diff_src_iter_c_desc: Tensor,
    diff_weights_layer_desc: Tensor,
    diff_weights_iter_desc: Tensor,
    diff_weights_peephole_desc: Tensor,
    diff_weights_projection_desc: Tensor,
    diff_bias_desc: Tensor,
    diff_dst_layer_desc: Tensor,
    diff_dst_iter_desc: Tensor,
    diff_dst_iter_c_desc: Tensor,
    flags: int,
    hint_fwd_pd: PrimitiveDescriptor | None = None,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """LSTM, with peepholes and a projection if they are given."""
    return create(dnnl_alg_kind_t.dnnl_vanilla_lstm, locals(), backward=True)


@entry
def dnnl_gru_backward_primitive_desc_create(
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
    diff_src_layer_desc: Tensor,
    diff_src_iter_desc: Tensor,
    diff_weights_layer_desc: Tensor,
    diff_weights_iter_desc: Tensor,
    diff_bias_desc: Tensor,
    diff_dst_layer_desc: Tensor,
    diff_dst_iter_desc: Tensor,
    flags: int,
    hint_fwd_pd: PrimitiveDescriptor | None = None,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """GRU, its reset gate before the product."""
    return create(dnnl_alg_kind_t.dnnl_vanilla_gru, locals(), backward=True)


@entry
def dnnl_lbr_gru_backward_primitive_desc_create(
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
    diff_src_layer_desc: Tensor,
    diff_src_iter_desc: Tensor,
    diff_weights_layer_desc: Tensor,
    diff_weights_iter_desc: Tensor,
    diff_bias_desc: Tensor,
    diff_dst_layer_desc: Tensor,
    diff_dst_iter_desc: Tensor,
    flags: int,
    hint_fwd_pd: PrimitiveDescriptor | None = None,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """GRU, its reset gate after the product."""
    return create(dnnl_alg_kind_t.dnnl_lbr_gru, locals(), backward=True)


@entry
def dnnl_augru_backward_primitive_desc_create(
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
    diff_src_layer_desc: Tensor,
    diff_src_iter_desc: Tensor,
    diff_attention_desc: Tensor,
    diff_weights_layer_desc: Tensor,
    diff_weights_iter_desc: Tensor,
    diff_bias_desc: Tensor,
    diff_dst_layer_desc: Tensor,
    diff_dst_iter_desc: Tensor,
    flags: int,
    hint_fwd_pd: PrimitiveDescriptor | None = None,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """GRU whose update gate is u * (1 - attention)."""
    return create(dnnl_alg_kind_t.dnnl_vanilla_augru, locals(), backward=True)


@entry
def dnnl_lbr_augru_backward_primitive_desc_create(
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
    diff_src_layer_desc: Tensor,
    diff_src_iter_desc: Tensor,
    diff_attention_desc: Tensor,
    diff_weights_layer_desc: Tensor,
    diff_weights_iter_desc: Tensor,
    diff_bias_desc: Tensor,
    diff_dst_layer_desc: Tensor,
    diff_dst_iter_desc: Tensor,
    flags: int,
    hint_fwd_pd: PrimitiveDescriptor | None = None,
    attr: Attributes | None = None,
) -> PrimitiveDescriptor:
    """The same with the reset gate after the product."""
    return create(dnnl_alg_kind_t.dnnl_lbr_augru, locals(), backward=True)
