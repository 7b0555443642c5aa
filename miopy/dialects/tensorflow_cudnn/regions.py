"""The parts of params: which there are, and copies of them in and out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...calls.arrays import new_array
from ...core.config import INPUT, PROJECTION, RECURRENT, RNNConfig
from ...core.layout import Parameter
from ...layouts import CUDNN
from .entry import InvalidArgumentError
from .memory import backend
from .model import check_params
from .tensors import Shape, Tensor, check_rank


class Canonical(NamedTuple):
    """What the ops to canonical form give."""

    weights: list[Any]
    biases: list[Any]


class Region(NamedTuple):
    """One part, dense; `offset` is in elements."""

    offset: int
    shape: Shape

    @property
    def num_elements(self) -> int:
        return math.prod(self.shape)


def _regions(
    config: RNNConfig, find: Callable[..., Parameter | None], roles: Sequence[int]
) -> Iterator[Region]:
    """Those that `find` knows, a method of Layout, in the order of the lists."""
    for layer in range(config.num_layers):
        for direction in range(config.num_directions):
            for role in roles:
                for gate in range(1 if role == PROJECTION else config.num_gates):
                    parameter = find(config, layer, direction, role, gate)
                    if parameter is None:
                        yield Region(0, (config.hidden_size, 0))
                    else:
                        yield Region(parameter.offset, parameter.shape)


def _matrices(config: RNNConfig) -> list[Region]:
    return list(_regions(config, CUDNN.matrix, config.roles))


def _biases(config: RNNConfig) -> list[Region]:
    return list(_regions(config, CUDNN.bias, (INPUT, RECURRENT)))


def to_canonical(config: RNNConfig, params: Tensor, num_weights: int, num_biases: int) -> Canonical:
    """Copies of all parts. InvalidArgumentError unless these are their numbers."""
    check_rank("params", params.shape, 1)
    _check_counts(config, num_weights, num_biases)
    check_params(params, config)
    device = backend()
    start = params.address(device)

    def copy(region: Region) -> Any:
        array, address = new_array(device, region.shape, config.dtype)
        if region.num_elements:
            nbytes = region.num_elements * config.itemsize
            device.copy(address, start + region.offset * config.itemsize, nbytes)
        return array

    return Canonical(list(map(copy, _matrices(config))), list(map(copy, _biases(config))))


def to_params(
    config: RNNConfig, tensors: Mapping[str, Tensor], num_weights: int, num_biases: int
) -> Any:
    """A new buffer of parts that are named weights[0], ... and biases[0], ...

    InvalidArgumentError unless these are their numbers and each has as many elements as its part.
    """
    regions: dict[str, Region] = {}
    for name, count, found in (
        ("weights", num_weights, _matrices(config)),
        ("biases", num_biases, _biases(config)),
    ):
        if len(found) != count:
            text = f"Number of params mismatch. Expected {count}, got {len(found)}"
            raise InvalidArgumentError(name, text, count)
        regions |= {f"{name}[{n}]": region for n, region in enumerate(found)}
    for name, region in regions.items():
        given = tensors[name].num_elements
        if given != region.num_elements:
            text = f"Params size mismatch. Expected {region.num_elements}, got {given}"
            raise InvalidArgumentError(name, text, given)
    device = backend()
    params, start = new_array(device, (CUDNN.size(config),), config.dtype)
    for name, region in regions.items():
        if region.num_elements:
            source = tensors[name].address(device)
            device.copy(start + region.offset * config.itemsize, source, tensors[name].nbytes)
    return params


def _check_counts(config: RNNConfig, num_weights: int, num_biases: int) -> None:
    """Where TensorFlow's words lack a space or have a letter wrong, these do not."""
    blocks = config.num_layers * config.num_directions
    for name, count in (("weights", num_weights), ("biases", num_biases)):
        if count % blocks:
            text = f"Number of params ({name}) is not a multiple of num_layers * num_dirs."
            raise InvalidArgumentError(f"num_params_{name}", text, count)
    if num_weights // blocks % 2 != bool(config.projection_size):
        kind = "odd number with" if config.projection_size else "even number with no"
        text = f"Number of params (weights) per layer is not an {kind} projection."
        raise InvalidArgumentError("num_params_weights", text, num_weights)
    for letter, name, count, regions in (
        ("C", "weights", num_weights, _matrices(config)),
        ("A", "biases", num_biases, _biases(config)),
    ):
        if count != len(regions):
            text = f"{letter} Number of params mismatch. Expected {count}, got {len(regions)}"
            raise InvalidArgumentError(f"num_params_{name}", text, count)
