"""Attributes of primitives: whose scratchpad, and how 8-bit numbers stand for real ones.

Data x is kept as round(x * scale + shift), the weights W as round(W * scale).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...calls.arguments import check_enum, check_float, check_integer, first_of
from ...errors import BadParam, NotSupported
from .entry import entry
from .types import dnnl_fpmath_mode_t, dnnl_scratchpad_mode_t

# The dimensions along which scales may differ: of weights (L, D, I, G, O), of a projection
# (L, D, I, O).
OUTPUTS = {5: (3, 4), 4: (3,)}


@dataclass(frozen=True)
class WeightScales:
    """mask has the bits of the dimensions along which there are different scales."""

    mask: int = 0
    scales: tuple[float, ...] = (1.0,)

    def checked(self, argument: str, dims: tuple[int, ...]) -> tuple[float, ...]:
        """The scales of weights of these dimensions: one, or one for each output of each gate.

        NotSupported for a mask that they do not have, BadParam unless there are as many scales as
        it asks for.
        """
        outputs = OUTPUTS[len(dims)]
        every = sum(1 << axis for axis in outputs)
        if self.mask not in (0, every):
            raise NotSupported(argument, f"must have the mask 0 or {every}", self.mask)
        count = math.prod(dims[axis] for axis in outputs) if self.mask else 1
        if len(self.scales) < count:
            raise BadParam(argument, f"must have {count} scales", len(self.scales))
        return self.scales[:count]


@dataclass(eq=False, slots=True)
class Attributes:
    """What dnnl_primitive_attr_create returns: the defaults.

    data                 (scale, shift); None until set
    weights, projection  None until set
    """

    c_name: ClassVar[str] = "dnnl_primitive_attr_t"

    scratchpad_mode: dnnl_scratchpad_mode_t = dnnl_scratchpad_mode_t.dnnl_scratchpad_mode_library
    fpmath_mode: dnnl_fpmath_mode_t = dnnl_fpmath_mode_t.dnnl_fpmath_mode_strict
    data: tuple[float, float] | None = None
    weights: WeightScales | None = None
    projection: WeightScales | None = None
    alive: bool = True

    @property
    def quantizes(self) -> bool:
        return not (self.data is None and self.weights is None and self.projection is None)


def copy_of(attr: Attributes | None) -> Attributes:
    """Attributes that later changes do not reach; the defaults for None."""
    return Attributes() if attr is None else replace(attr)


@entry
def dnnl_primitive_attr_create() -> Attributes:
    return Attributes()


@entry
def dnnl_primitive_attr_clone(existing_attr: Attributes) -> Attributes:
    return copy_of(existing_attr)


@entry
def dnnl_primitive_attr_destroy(attr: Attributes | None) -> None:
    """None is accepted."""
    if attr is not None:
        attr.alive = False


@entry
def dnnl_primitive_attr_get_scratchpad_mode(attr: Attributes) -> dnnl_scratchpad_mode_t:
    return attr.scratchpad_mode


@entry
def dnnl_primitive_attr_set_scratchpad_mode(attr: Attributes, mode: dnnl_scratchpad_mode_t) -> None:
    """library: primitives find their own scratchpad; user: it is an argument of execution."""
    attr.scratchpad_mode = check_enum("mode", dnnl_scratchpad_mode_t, mode)


@entry
def dnnl_primitive_attr_get_fpmath_mode(attr: Attributes) -> dnnl_fpmath_mode_t:
    return attr.fpmath_mode


@entry
def dnnl_primitive_attr_set_fpmath_mode(attr: Attributes, mode: dnnl_fpmath_mode_t) -> None:
    """Kept, with no effect: f32 is always computed as such, which every mode allows."""
    attr.fpmath_mode = check_enum("mode", dnnl_fpmath_mode_t, mode)


@entry
def dnnl_primitive_attr_set_rnn_data_qparams(attr: Attributes, scale: float, shift: float) -> None:
    """How all data and states of an 8-bit RNN are kept."""
    attr.data = check_float("scale", scale), check_float("shift", shift)


@entry
def dnnl_primitive_attr_get_rnn_data_qparams(attr: Attributes) -> tuple[float, float]:
    """(scale, shift)"""
    return attr.data or (1.0, 0.0)


@entry
def dnnl_primitive_attr_set_rnn_weights_qparams(
    attr: Attributes, count: int, mask: int, scales: Sequence[float]
) -> None:
    """How weights_layer and weights_iter of an 8-bit RNN are kept.

    mask     0 for one scale, 24 (1 << 3 | 1 << 4) for one per gate and unit: (G, DHC)
    count    of scales, > 0; as many as the mask asks for, which a primitive checks
    """
    attr.weights = _scales(count, mask, scales)


@entry
def dnnl_primitive_attr_get_rnn_weights_qparams(
    attr: Attributes,
) -> tuple[int, int, tuple[float, ...]]:
    """(count, mask, scales)"""
    return _shown(attr.weights)


@entry
def dnnl_primitive_attr_set_rnn_weights_projection_qparams(
    attr: Attributes, count: int, mask: int, scales: Sequence[float]
) -> None:
    """The same for weights_projection; mask 0, or 8 (1 << 3) for one scale per unit: (DIC,)."""
    attr.projection = _scales(count, mask, scales)


@entry
def dnnl_primitive_attr_get_rnn_weights_projection_qparams(
    attr: Attributes,
) -> tuple[int, int, tuple[float, ...]]:
    """(count, mask, scales)"""
    return _shown(attr.projection)


def _scales(count: int, mask: int, scales: Any) -> WeightScales:
    number, bits = check_integer("count", count, 1), check_integer("mask", mask, 0)
    values = tuple(
        check_float(f"scales[{index}]", scale)
        for index, scale in first_of("scales", scales, number, "numbers")
    )
    return WeightScales(bits, values)


def _shown(weights: WeightScales | None) -> tuple[int, int, tuple[float, ...]]:
    known = weights or WeightScales()
    return len(known.scales), known.mask, known.scales
