"""Copies of tensors between layouts and element types."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.backend import Strided
from ...core.strided import collapse
from .memory_descriptors import MemoryDescriptor


class Tensor(NamedTuple):
    """A tensor with strides in a backend's memory."""

    descriptor: MemoryDescriptor
    address: int


class Scales(NamedTuple):
    """Numbers (float32) that elements are multiplied by; 0 is a stride along which they repeat."""

    address: int
    strides: tuple[int, ...]
    shift: float = 0.0


def num_walked(*descriptors: MemoryDescriptor) -> int:
    """Dimensions of a copy, those that continue one another being one."""
    lengths = descriptors[0].dims
    return len(collapse(lengths, *(each.strides for each in descriptors))[0])


def convert(backend: Any, to: Tensor, source: Tensor, scales: Scales | None = None) -> None:
    """Copy a tensor of equal dimensions; elements become the nearest of the other type.

    At most MAX_DIMS dimensions may be left when those that continue one another are one.
    """
    if not to.descriptor.num_elements:
        return
    lengths, *strides = collapse(
        to.descriptor.dims,
        to.descriptor.strides,
        source.descriptor.strides,
        *([] if scales is None else [scales.strides]),
    )
    more = {}
    if scales is not None:
        more = {"scales": Strided(scales.address, strides[2]), "shift": scales.shift}
    backend.convert_tensor(
        (to.descriptor.element_type.name, source.descriptor.element_type.name),
        lengths,
        Strided(to.address, strides[0]),
        Strided(source.address, strides[1]),
        **more,
    )
