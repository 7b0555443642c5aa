"""The tensors of RNN primitives: their names, execution arguments and dimensions.

T steps, N sequences, L layers, D directions, G gates, SLC channels of src_layer, SIC of src_iter,
DHC hidden units, DIC channels of dst_iter, DLC of dst_layer. A diff tensor has the dimensions of
the tensor that it is the gradient of.
"""

from __future__ import annotations

from typing import NamedTuple

from . import types
from .types import dnnl_alg_kind_t, dnnl_rnn_direction_t

SOURCES = ("src_layer", "src_iter", "src_iter_c", "attention")
WEIGHTS = ("weights_layer", "weights_iter", "weights_peephole", "weights_projection", "bias")
TARGETS = ("dst_layer", "dst_iter", "dst_iter_c")
# What flags and training treat alike: gradients of parameters are added up.
DIFF_WEIGHTS = tuple(f"diff_{name}" for name in WEIGHTS)

MACROS = {
    f"{prefix}{name}": f"DNNL_ARG_{prefix.upper()}"
    + ("AUGRU_ATTENTION" if name == "attention" else name.upper())
    for prefix in ("", "diff_")
    for name in (*SOURCES, *WEIGHTS, *TARGETS)
}
ARGUMENTS: dict[str, int] = {name: getattr(types, macro) for name, macro in MACROS.items()}

MANDATORY = ("src_layer", "weights_layer", "weights_iter", "dst_layer")
PAIRS = (("src_iter", "src_iter_c"), ("dst_iter", "dst_iter_c"))  # of LSTM: both or none

_GATED = {
    dnnl_alg_kind_t.dnnl_vanilla_rnn: (1, 1),
    dnnl_alg_kind_t.dnnl_vanilla_lstm: (4, 4),
    dnnl_alg_kind_t.dnnl_vanilla_gru: (3, 3),
    dnnl_alg_kind_t.dnnl_lbr_gru: (3, 4),
    dnnl_alg_kind_t.dnnl_vanilla_augru: (3, 3),
    dnnl_alg_kind_t.dnnl_lbr_augru: (3, 4),
}
LSTM = dnnl_alg_kind_t.dnnl_vanilla_lstm
ATTENTIVE = (dnnl_alg_kind_t.dnnl_vanilla_augru, dnnl_alg_kind_t.dnnl_lbr_augru)
BLENDING = tuple(kind for kind in _GATED if _GATED[kind][0] == 3)  # h' has a part of h
BOTH_WAYS = (
    dnnl_rnn_direction_t.dnnl_bidirectional_concat,
    dnnl_rnn_direction_t.dnnl_bidirectional_sum,
)


class Sizes(NamedTuple):
    """The lengths that tensors are made of."""

    steps: int
    batch: int
    layers: int
    directions: int
    slc: int
    sic: int
    dhc: int
    dic: int
    dlc: int

    def dims(self, kind: dnnl_alg_kind_t) -> dict[str, tuple[int, ...]]:
        """The dimensions of every tensor."""
        gates, biases = _GATED[kind]
        stack = self.layers, self.directions
        return {
            "src_layer": (self.steps, self.batch, self.slc),
            "src_iter": (*stack, self.batch, self.sic),
            "src_iter_c": (*stack, self.batch, self.dhc),
            "attention": (self.steps, self.batch, 1),
            "weights_layer": (*stack, self.slc, gates, self.dhc),
            "weights_iter": (*stack, self.sic, gates, self.dhc),
            "weights_peephole": (*stack, 3, self.dhc),
            "weights_projection": (*stack, self.dhc, self.dic),
            "bias": (*stack, biases, self.dhc),
            "dst_layer": (self.steps, self.batch, self.dlc),
            "dst_iter": (*stack, self.batch, self.dic),
            "dst_iter_c": (*stack, self.batch, self.dhc),
        }


SYMBOLS = {
    "src_layer": "(T, N, SLC)",
    "src_iter": "(L, D, N, SIC)",
    "src_iter_c": "(L, D, N, DHC)",
    "attention": "(T, N, 1)",
    "weights_layer": "(L, D, SLC, G, DHC)",
    "weights_iter": "(L, D, SIC, G, DHC)",
    "weights_peephole": "(L, D, 3, DHC)",
    "weights_projection": "(L, D, DHC, DIC)",
    "bias": "(L, D, biases, DHC)",
    "dst_layer": "(T, N, DLC)",
    "dst_iter": "(L, D, N, DIC)",
    "dst_iter_c": "(L, D, N, DHC)",
}


def forward_name(name: str) -> str:
    """The tensor that a diff tensor is the gradient of; any other's own name."""
    return name.removeprefix("diff_")
