"""What an RNN primitive computes, on tensors of which dimensions and types: the rules of oneDNN.

The checks here are those of version 2's descriptors and of version 3's primitive descriptors. What
depends on attributes and on layouts comes later, in `rnn_primitive_descriptors`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from ...calls.arguments import check_enum, check_float, check_integer
from ...errors import BadParam, NotSupported
from .memory_descriptors import MemoryDescriptor
from .rnn_tensors import (
    ATTENTIVE,
    BLENDING,
    BOTH_WAYS,
    LSTM,
    MANDATORY,
    PAIRS,
    SYMBOLS,
    Sizes,
    forward_name,
)
from .rnn_types import check_types
from .types import (
    dnnl_alg_kind_t,
    dnnl_prop_kind_t,
    dnnl_rnn_direction_t,
    dnnl_rnn_flags_t,
)

BACKWARD = dnnl_prop_kind_t.dnnl_backward
FORWARD = dnnl_prop_kind_t.dnnl_forward_training, dnnl_prop_kind_t.dnnl_forward_inference
OVERWRITE = dnnl_rnn_flags_t.dnnl_rnn_flags_diff_weights_overwrite
ACTIVATIONS = (
    dnnl_alg_kind_t.dnnl_eltwise_relu,
    dnnl_alg_kind_t.dnnl_eltwise_tanh,
    dnnl_alg_kind_t.dnnl_eltwise_logistic,
)
CONCAT = dnnl_rnn_direction_t.dnnl_bidirectional_concat
Tensors = Mapping[str, MemoryDescriptor | None]


@dataclass(frozen=True)
class Settings:
    """The arguments of a descriptor that are no tensors.

    activation, alpha   of the vanilla RNN
    """

    cell_kind: dnnl_alg_kind_t
    prop_kind: int
    direction: int
    activation: int = dnnl_alg_kind_t.dnnl_alg_kind_undef
    flags: int = 0
    alpha: float = 0.0
    beta: float = 0.0


@dataclass(frozen=True)
class RnnDescriptor:
    """A network that was checked. `tensors` has those that are present, diff tensors by name."""

    settings: Settings
    sizes: Sizes
    tensors: dict[str, MemoryDescriptor]

    @property
    def cell_kind(self) -> dnnl_alg_kind_t:
        return self.settings.cell_kind

    @property
    def is_backward(self) -> bool:
        return self.settings.prop_kind == BACKWARD

    def is_output(self, name: str) -> bool:
        """Whether the primitive writes a tensor."""
        if self.is_backward:
            return name.startswith("diff_") and not name.startswith("diff_dst")
        return name.startswith("dst")

    @property
    def overwrites(self) -> bool:
        """Whether gradients of parameters are overwritten, not added to."""
        return bool(self.settings.flags & OVERWRITE)

    @property
    def trains(self) -> bool:
        """Whether there is a workspace."""
        return self.settings.prop_kind != dnnl_prop_kind_t.dnnl_forward_inference


def rnn_descriptor(settings: Settings, tensors: Tensors, *, backward: bool) -> RnnDescriptor:
    """Check everything that can be checked without an engine.

    tensors   by name; None, or one without dimensions, for what is not there

    Raises BadParam, or NotSupported for types that do not go together.
    """
    settings = _checked(settings, backward)
    present = {
        name: each.copy() for name, each in tensors.items() if each is not None and each.dims
    }
    _check_presence(settings.cell_kind, tensors, present, backward)
    for name, descriptor in present.items():
        if descriptor.has_runtime_values:
            raise NotSupported(_argument(name), "must not have runtime dimensions or strides")
    check_types(settings.cell_kind, settings.prop_kind, present)
    return RnnDescriptor(settings, _sizes(settings, present), present)


def _argument(name: str) -> str:
    return f"{name}_desc"


def _checked(settings: Settings, backward: bool) -> Settings:
    """The same with enumerators for integers."""
    kinds = (BACKWARD,) if backward else FORWARD
    prop_kind = check_enum("prop_kind", dnnl_prop_kind_t, settings.prop_kind)
    if prop_kind not in kinds:
        rule = f"must be {' or '.join(kind.name for kind in kinds)}"
        raise BadParam("prop_kind", rule, prop_kind.name)
    direction = check_enum("direction", dnnl_rnn_direction_t, settings.direction)
    if direction == dnnl_rnn_direction_t.dnnl_rnn_direction_undef:
        raise BadParam("direction", "must be a direction", direction.name)
    activation = check_enum("activation", dnnl_alg_kind_t, settings.activation)
    if settings.cell_kind == dnnl_alg_kind_t.dnnl_vanilla_rnn and activation not in ACTIVATIONS:
        names = ", ".join(each.name for each in ACTIVATIONS)
        raise BadParam("activation", f"must be one of {names}", activation.name)
    alpha = check_float("alpha", settings.alpha)
    is_relu = activation == dnnl_alg_kind_t.dnnl_eltwise_relu
    if settings.cell_kind == dnnl_alg_kind_t.dnnl_vanilla_rnn and is_relu:
        if not math.isfinite(alpha):
            raise BadParam("alpha", f"must be finite for {activation.name}", alpha)
    return Settings(
        settings.cell_kind,
        prop_kind,
        direction,
        activation,
        check_integer("flags", settings.flags, 0),
        alpha,
        check_float("beta", settings.beta),
    )


def _check_presence(
    kind: dnnl_alg_kind_t,
    tensors: Tensors,
    present: Mapping[str, MemoryDescriptor],
    backward: bool,
) -> None:
    mandatory = list(MANDATORY)
    if backward:
        mandatory += [f"diff_{name}" for name in MANDATORY]
        if kind in ATTENTIVE:
            mandatory += ["attention"]
    for name in mandatory:
        if name not in present:
            raise BadParam(_argument(name), "must not be NULL, or without dimensions")
    pairs = list(PAIRS) if kind == LSTM else []
    if backward:
        pairs += [(name, f"diff_{name}") for name in tensors if not name.startswith("diff_")]
    for one, other in pairs:
        if (one in present) != (other in present):
            given, missing = (one, other) if one in present else (other, one)
            raise BadParam(_argument(missing), f"must be given with `{_argument(given)}`")


def _sizes(settings: Settings, present: Mapping[str, MemoryDescriptor]) -> Sizes:
    """The lengths that the tensors agree on."""
    kind = settings.cell_kind
    for name, rank in (("src_layer", 3), ("dst_layer", 3), ("weights_layer", 5)):
        _check_rank(name, present, rank)
    _check_rank("weights_iter", present, 5)
    steps, batch, slc = present["src_layer"].dims
    layers, _, _, _, dhc = present["weights_layer"].dims
    dic = dhc
    if "weights_projection" in present:
        _check_rank("weights_projection", present, 4)
        dic = present["weights_projection"].dims[3]
    directions = 2 if settings.direction in BOTH_WAYS else 1
    sic = present["weights_iter"].dims[2]
    dlc = 2 * dic if settings.direction == CONCAT else dic
    sizes = Sizes(steps, batch, layers, directions, slc, sic, dhc, dic, dlc)
    expected = sizes.dims(kind)
    for name, descriptor in present.items():
        dims = expected[forward_name(name)]
        if descriptor.dims != dims:
            rule = f"must have the dimensions {SYMBOLS[forward_name(name)]} = {dims}"
            raise BadParam(_argument(name), rule, descriptor.dims)
    _check_channels(settings, sizes)
    return sizes


def _check_rank(name: str, present: Mapping[str, MemoryDescriptor], rank: int) -> None:
    dims = present[name].dims
    if len(dims) != rank:
        rule = f"must have {rank} dimensions, {SYMBOLS[name]}"
        raise BadParam(_argument(name), rule, dims)


def _check_channels(settings: Settings, sizes: Sizes) -> None:
    if sizes.layers > 1 and sizes.slc != sizes.dic:
        _refuse("src_layer", f"must have SLC = DIC = {sizes.dic} with several layers", sizes.slc)
    if settings.cell_kind in BLENDING and sizes.sic != sizes.dhc:
        _refuse("weights_iter", f"must have SIC = DHC = {sizes.dhc} for GRU", sizes.sic)
    if sizes.steps > 1 and sizes.sic != sizes.dic:
        _refuse("weights_iter", f"must have SIC = DIC = {sizes.dic} with several steps", sizes.sic)
    if settings.cell_kind in ATTENTIVE:
        if settings.direction != dnnl_rnn_direction_t.dnnl_unidirectional_left2right:
            name = dnnl_rnn_direction_t(settings.direction).name
            raise BadParam("direction", "must be left2right for AUGRU", name)
        if sizes.layers != 1:
            _refuse("weights_layer", "must have L = 1 for AUGRU", sizes.layers)


def _refuse(name: str, rule: str, value: int) -> NoReturn:
    raise BadParam(_argument(name), rule, value)
