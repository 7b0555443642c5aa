"""Descriptors of states: h is {L * D, batch, P}, c is {L * D, batch, H}, packed."""

from __future__ import annotations

from typing import Any

from ...calls.arguments import require
from ...calls.walks import Shapes
from ...errors import BadParam
from .tensor import TensorDescriptor


def check_states(shapes: Shapes, **states: tuple[Any, ...]) -> None:
    """Check the descriptors of states whose data is used.

    states   by the name of its descriptor, which says whether it is an h or a c: the descriptor,
             then the data that it describes
    """
    config = shapes.config
    for name, (descriptor, *values) in states.items():
        is_cell = "c" in name.removesuffix("Desc")
        if all(value is None for value in values) or (is_cell and not config.record.has_cell_state):
            continue
        require(**{name: descriptor})
        width = config.hidden_size if is_cell else config.state_size
        layers = config.num_layers * config.num_directions
        _check_state(name, descriptor, config.dtype, (layers, shapes.sequence.batch, width))


def _check_state(
    name: str, descriptor: TensorDescriptor, dtype: str, dims: tuple[int, ...]
) -> None:
    if descriptor.element_type.name != dtype:
        raise BadParam(name, f"must have the RNN's data type, {dtype}", descriptor.data_type.name)
    if descriptor.dims != dims:
        raise BadParam(name, f"must have dims {dims}", descriptor.dims)
    descriptor.check_packed(name)
