"""Operation descriptors: RNNs that were checked, but know no engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ....calls.arguments import check_integer
from ..rnn_descriptors import RnnDescriptor, Settings, rnn_descriptor
from ..types import dnnl_alg_kind_t as cells
from ..types import dnnl_prop_kind_t
from ..types import dnnl_rnn_direction_t as directions
from .types import dnnl_alg_kind_t, dnnl_primitive_kind_t, dnnl_rnn_direction_t, in_version_3

VANILLA, LSTM, GRU = cells.dnnl_vanilla_rnn, cells.dnnl_vanilla_lstm, cells.dnnl_vanilla_gru
LBR_GRU, AUGRU, LBR_AUGRU = cells.dnnl_lbr_gru, cells.dnnl_vanilla_augru, cells.dnnl_lbr_augru

TRAINING, BACKWARD = dnnl_prop_kind_t.dnnl_forward_training, dnnl_prop_kind_t.dnnl_backward
PROP_KINDS = (TRAINING, dnnl_prop_kind_t.dnnl_forward_inference, BACKWARD)


@dataclass(eq=False, slots=True)
class RnnOperation:
    """A dnnl_rnn_desc_t: what the desc_init functions return, and an op_desc.

    prop_kind   as it was given; what is none for RNNs is refused by dnnl_primitive_desc_create
    """

    c_name: ClassVar[str] = "dnnl_rnn_desc_t"

    descriptor: RnnDescriptor
    prop_kind: int
    alive: bool = True

    @property
    def primitive_kind(self) -> dnnl_primitive_kind_t:
        return dnnl_primitive_kind_t.dnnl_rnn

    @property
    def cell_kind(self) -> dnnl_alg_kind_t:
        return dnnl_alg_kind_t[self.descriptor.cell_kind.name]

    @property
    def direction(self) -> dnnl_rnn_direction_t:
        return dnnl_rnn_direction_t[directions(self.descriptor.settings.direction).name]

    @property
    def activation_kind(self) -> dnnl_alg_kind_t:
        return dnnl_alg_kind_t[cells(self.descriptor.settings.activation).name]

    @property
    def alpha(self) -> float:
        return self.descriptor.settings.alpha

    @property
    def beta(self) -> float:
        return self.descriptor.settings.beta


def forward(cell_kind: cells, arguments: Mapping[str, Any]) -> RnnOperation:
    """The operation of a forward desc_init with these arguments, by name."""
    return _operation(cell_kind, arguments, backward=False)


def backward(cell_kind: cells, arguments: Mapping[str, Any]) -> RnnOperation:
    """The same of a backward desc_init."""
    return _operation(cell_kind, arguments, backward=True)


def _operation(cell_kind: cells, arguments: Mapping[str, Any], *, backward: bool) -> RnnOperation:
    activation = cells.dnnl_alg_kind_undef
    if "activation" in arguments:
        activation = in_version_3("activation", dnnl_alg_kind_t, arguments["activation"])
    check_integer("flags", arguments["flags"], 0)  # which are not used
    prop_kind = check_integer("prop_kind", arguments["prop_kind"], 0)
    stand_in = BACKWARD if backward else TRAINING
    settings = Settings(
        cell_kind,
        prop_kind if prop_kind in PROP_KINDS else stand_in,
        in_version_3("direction", dnnl_rnn_direction_t, arguments["direction"]),
        activation,
        alpha=arguments.get("alpha", 0.0),
        beta=arguments.get("beta", 0.0),
    )
    ending = "_desc"
    tensors = {
        name.removesuffix(ending): value
        for name, value in arguments.items()
        if name.endswith(ending)
    }
    return RnnOperation(rnn_descriptor(settings, tensors, backward=backward), prop_kind)
