"""Descriptors of forward passes, in the words of version 2.

`prop_kind` is dnnl_forward_training or dnnl_forward_inference. Descriptors of optional tensors may
be None, or have no dimensions.
"""

from __future__ import annotations

from ..entry import entry
from ..memory_descriptors import MemoryDescriptor
from ..types import dnnl_prop_kind_t
from .operations import AUGRU, GRU, LBR_AUGRU, LBR_GRU, LSTM, VANILLA, RnnOperation, forward
from .types import dnnl_alg_kind_t, dnnl_rnn_direction_t


@entry
def dnnl_vanilla_rnn_forward_desc_init(
    prop_kind: dnnl_prop_kind_t,
    activation: dnnl_alg_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: MemoryDescriptor | None,
    src_iter_desc: MemoryDescriptor | None,
    weights_layer_desc: MemoryDescriptor | None,
    weights_iter_desc: MemoryDescriptor | None,
    bias_desc: MemoryDescriptor | None,
    dst_layer_desc: MemoryDescriptor | None,
    dst_iter_desc: MemoryDescriptor | None,
    flags: int,
    alpha: float,
    beta: float,
) -> RnnOperation:
    """h = activation(W x + R h + b); `alpha` is the slope of relu below 0."""
    return forward(VANILLA, locals())


@entry
def dnnl_lstm_forward_desc_init(
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: MemoryDescriptor | None,
    src_iter_desc: MemoryDescriptor | None,
    src_iter_c_desc: MemoryDescriptor | None,
    weights_layer_desc: MemoryDescriptor | None,
    weights_iter_desc: MemoryDescriptor | None,
    bias_desc: MemoryDescriptor | None,
    dst_layer_desc: MemoryDescriptor | None,
    dst_iter_desc: MemoryDescriptor | None,
    dst_iter_c_desc: MemoryDescriptor | None,
    flags: int,
) -> RnnOperation:
    """Gates i, f, c, o."""
    return forward(LSTM, locals())


@entry
def dnnl_lstm_forward_desc_init_v2(
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: MemoryDescriptor | None,
    src_iter_desc: MemoryDescriptor | None,
    src_iter_c_desc: MemoryDescriptor | None,
    weights_layer_desc: MemoryDescriptor | None,
    weights_iter_desc: MemoryDescriptor | None,
    weights_peephole_desc: MemoryDescriptor | None,
    bias_desc: MemoryDescriptor | None,
    dst_layer_desc: MemoryDescriptor | None,
    dst_iter_desc: MemoryDescriptor | None,
    dst_iter_c_desc: MemoryDescriptor | None,
    flags: int,
) -> RnnOperation:
    """The same with peepholes."""
    return forward(LSTM, locals())


@entry
def dnnl_lstm_forward_desc_init_v3(
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: MemoryDescriptor | None,
    src_iter_desc: MemoryDescriptor | None,
    src_iter_c_desc: MemoryDescriptor | None,
    weights_layer_desc: MemoryDescriptor | None,
    weights_iter_desc: MemoryDescriptor | None,
    weights_peephole_desc: MemoryDescriptor | None,
    weights_projection_desc: MemoryDescriptor | None,
    bias_desc: MemoryDescriptor | None,
    dst_layer_desc: MemoryDescriptor | None,
    dst_iter_desc: MemoryDescriptor | None,
    dst_iter_c_desc: MemoryDescriptor | None,
    flags: int,
) -> RnnOperation:
    """The same with peepholes and a projection."""
    return forward(LSTM, locals())


@entry
def dnnl_gru_forward_desc_init(
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: MemoryDescriptor | None,
    src_iter_desc: MemoryDescriptor | None,
    weights_layer_desc: MemoryDescriptor | None,
    weights_iter_desc: MemoryDescriptor | None,
    bias_desc: MemoryDescriptor | None,
    dst_layer_desc: MemoryDescriptor | None,
    dst_iter_desc: MemoryDescriptor | None,
    flags: int,
) -> RnnOperation:
    """Gates u, r, o; the reset gate comes before the product."""
    return forward(GRU, locals())


@entry
def dnnl_lbr_gru_forward_desc_init(
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: MemoryDescriptor | None,
    src_iter_desc: MemoryDescriptor | None,
    weights_layer_desc: MemoryDescriptor | None,
    weights_iter_desc: MemoryDescriptor | None,
    bias_desc: MemoryDescriptor | None,
    dst_layer_desc: MemoryDescriptor | None,
    dst_iter_desc: MemoryDescriptor | None,
    flags: int,
) -> RnnOperation:
    """The reset gate comes after the product; the bias has a fourth part for it."""
    return forward(LBR_GRU, locals())


@entry
def dnnl_augru_forward_desc_init(
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: MemoryDescriptor | None,
    src_iter_desc: MemoryDescriptor | None,
    attention_desc: MemoryDescriptor | None,
    weights_layer_desc: MemoryDescriptor | None,
    weights_iter_desc: MemoryDescriptor | None,
    bias_desc: MemoryDescriptor | None,
    dst_layer_desc: MemoryDescriptor | None,
    dst_iter_desc: MemoryDescriptor | None,
    flags: int,
) -> RnnOperation:
    """GRU whose update gate is scaled by 1 - attention."""
    return forward(AUGRU, locals())


@entry
def dnnl_lbr_augru_forward_desc_init(
    prop_kind: dnnl_prop_kind_t,
    direction: dnnl_rnn_direction_t,
    src_layer_desc: MemoryDescriptor | None,
    src_iter_desc: MemoryDescriptor | None,
    attention_desc: MemoryDescriptor | None,
    weights_layer_desc: MemoryDescriptor | None,
    weights_iter_desc: MemoryDescriptor | None,
    bias_desc: MemoryDescriptor | None,
    dst_layer_desc: MemoryDescriptor | None,
    dst_iter_desc: MemoryDescriptor | None,
    flags: int,
) -> RnnOperation:
    """The same of LBR-GRU."""
    return forward(LBR_AUGRU, locals())
