"""Single matrices and biases inside the weight buffer: sizes, places, copies in and out.

`layer` counts pseudo layers: layer * D + direction. `paramID` and `biasID` are numbers of gates:
LSTM 0 input, 1 forget, 2 output, 3 new memory; GRU 0 update, 1 reset, 2 new memory; the same again
plus the number of gates for the recurrent parameters. Each of the three is BadParam out of range,
which MIOpen does not check. Matrices are row-major, (H, features), both in the buffer and in the
caller's memory: Set and Get are exact inverses, where MIOpen's Set transposes.

Without bias every bias function but GetRNNLayerBiasSize succeeds and touches nothing. In skip mode
layer 0 has biases but no input matrices: size 0, else BadParam.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from ...calls.arguments import check_number
from ...core.layout import Parameter
from ...core.memory import address_of
from ...core.strided import packed_strides
from ...errors import BadParam
from ...layouts import MIOPEN
from .descriptors import RNNDescriptor
from .entry import entry
from .handle import Handle
from .steps import batch_and_vector
from .tensor import TensorDescriptor, describe_packed
from .types import DATA_TYPES, miopenDataType_t


class Place(NamedTuple):
    """One parameter in an RNN's weight buffer.

    offset          elements before it
    buffer_nbytes   bytes of the whole buffer
    """

    data_type: miopenDataType_t
    shape: tuple[int, ...]
    offset: int
    buffer_nbytes: int

    @property
    def dtype(self) -> str:
        return DATA_TYPES[self.data_type].name

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * DATA_TYPES[self.data_type].itemsize

    @property
    def offset_nbytes(self) -> int:
        return self.offset * DATA_TYPES[self.data_type].itemsize


@entry
def miopenGetRNNLayerParamSize(
    handle: Handle, rnnDesc: RNNDescriptor, layer: int, xDesc: TensorDescriptor, paramID: int
) -> int:
    """Bytes of one matrix; 0 for an input matrix of layer 0 in skip mode."""
    place = _place(rnnDesc, layer, xDesc, "paramID", paramID, MIOPEN.matrix)
    return place.nbytes if place else 0


@entry
def miopenGetRNNLayerBiasSize(
    handle: Handle, rnnDesc: RNNDescriptor, layer: int, biasID: int
) -> int:
    """Bytes of one bias, also if the RNN has none."""
    _coordinates(rnnDesc, layer, "biasID", biasID)
    return rnnDesc.hidden_size * rnnDesc.itemsize


@entry
def miopenGetRNNLayerParamOffset(
    rnnDesc: RNNDescriptor,
    layer: int,
    xDesc: TensorDescriptor,
    paramID: int,
    paramDesc: TensorDescriptor,
) -> int:
    """Elements before the matrix in the buffer; paramDesc becomes its (H, features)."""
    place = _matrix(rnnDesc, layer, xDesc, paramID)
    _fill(paramDesc, place)
    return place.offset


@entry
def miopenGetRNNLayerBiasOffset(
    rnnDesc: RNNDescriptor,
    layer: int,
    xDesc: TensorDescriptor,
    biasID: int,
    biasDesc: TensorDescriptor,
) -> int | None:
    """Elements before the bias in the buffer; biasDesc becomes its (H,). None without bias."""
    place = _place(rnnDesc, layer, xDesc, "biasID", biasID, MIOPEN.bias)
    if place is None:
        return None
    _fill(biasDesc, place)
    return place.offset


@entry
def miopenGetRNNLayerParam(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    layer: int,
    xDesc: TensorDescriptor,
    wDesc: TensorDescriptor,
    w: Any,
    paramID: int,
    paramDesc: TensorDescriptor,
    layerParam: Any,
) -> None:
    """Copy one matrix out of `w`; paramDesc becomes its (H, features).

    With layerParam None only paramDesc is filled, and w may be None too. wDesc is not read.
    """
    place = _matrix(rnnDesc, layer, xDesc, paramID)
    _get(handle, place, w, paramDesc, "layerParam", layerParam)


@entry
def miopenGetRNNLayerBias(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    layer: int,
    xDesc: TensorDescriptor,
    wDesc: TensorDescriptor,
    w: Any,
    biasID: int,
    biasDesc: TensorDescriptor,
    layerBias: Any,
) -> None:
    """Copy one bias out of `w`; biasDesc becomes its (H,). NULL rules as for matrices."""
    place = _place(rnnDesc, layer, xDesc, "biasID", biasID, MIOPEN.bias)
    if place is not None:
        _get(handle, place, w, biasDesc, "layerBias", layerBias)


@entry
def miopenSetRNNLayerParam(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    layer: int,
    xDesc: TensorDescriptor,
    wDesc: TensorDescriptor,
    w: Any,
    paramID: int,
    paramDesc: TensorDescriptor,
    layerParam: Any,
) -> None:
    """Copy one matrix into `w`. paramDesc must be as the getters fill it; wDesc is not read."""
    place = _matrix(rnnDesc, layer, xDesc, paramID)
    _check_packed("paramDesc", paramDesc, place)
    _set(handle, place, w, "layerParam", layerParam)


@entry
def miopenSetRNNLayerBias(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    layer: int,
    xDesc: TensorDescriptor,
    wDesc: TensorDescriptor,
    w: Any,
    biasID: int,
    biasDesc: TensorDescriptor,
    layerBias: Any,
) -> None:
    """Copy one bias into `w`. biasDesc must be as the getters fill it; wDesc is not read."""
    place = _place(rnnDesc, layer, xDesc, "biasID", biasID, MIOPEN.bias)
    if place is not None:
        _check_packed("biasDesc", biasDesc, place)
        _set(handle, place, w, "layerBias", layerBias)


def _coordinates(
    rnnDesc: RNNDescriptor, layer: int, argument: str, number: int
) -> tuple[int, int, int, int]:
    """layer, direction, role and gate as the core's layout counts them."""
    layer = check_number("layer", layer, rnnDesc.num_pseudo_layers)
    number = check_number(argument, number, 2 * rnnDesc.num_gates)
    return (*divmod(layer, rnnDesc.num_directions), *divmod(number, rnnDesc.num_gates))


def _place(
    rnnDesc: RNNDescriptor,
    layer: int,
    xDesc: TensorDescriptor,
    argument: str,
    number: int,
    find: Callable[..., Parameter | None],
) -> Place | None:
    """The parameter that `find`, MIOPEN.matrix or MIOPEN.bias, gives; None if there is none."""
    coordinates = _coordinates(rnnDesc, layer, argument, number)
    _, input_size = batch_and_vector("xDesc", xDesc, rnnDesc)
    config = rnnDesc.weights_config(input_size)
    parameter = find(config, *coordinates)
    if parameter is None:
        return None
    buffer_nbytes = MIOPEN.size(config) * rnnDesc.itemsize
    return Place(rnnDesc.data_type, parameter.shape, parameter.offset, buffer_nbytes)


def _matrix(rnnDesc: RNNDescriptor, layer: int, xDesc: TensorDescriptor, paramID: int) -> Place:
    place = _place(rnnDesc, layer, xDesc, "paramID", paramID, MIOPEN.matrix)
    if place is None:
        rule = "must not name an input matrix of layer 0, which has none in skip mode"
        raise BadParam("paramID", rule, paramID)
    return place


def _get(
    handle: Handle, place: Place, w: Any, descriptor: TensorDescriptor, argument: str, value: Any
) -> None:
    if value is None:
        _fill(descriptor, place)
        return
    backend, nbytes = handle.backend, place.nbytes
    source = address_of("w", w, nbytes=place.buffer_nbytes, location=backend)
    target = address_of(
        argument, value, nbytes=nbytes, dtype=place.dtype, writable=True, location=backend
    )
    _fill(descriptor, place)
    handle.backend.copy(target, source + place.offset_nbytes, nbytes)


def _set(handle: Handle, place: Place, w: Any, argument: str, value: Any) -> None:
    backend, nbytes = handle.backend, place.nbytes
    target = address_of("w", w, nbytes=place.buffer_nbytes, writable=True, location=backend)
    source = address_of(argument, value, nbytes=nbytes, dtype=place.dtype, location=backend)
    handle.backend.copy(target + place.offset_nbytes, source, nbytes)


def _fill(descriptor: TensorDescriptor, place: Place) -> None:
    describe_packed("rnnDesc", descriptor, place.data_type, place.shape)


def _check_packed(argument: str, descriptor: TensorDescriptor, place: Place) -> None:
    expected = (place.data_type, place.shape, packed_strides(place.shape))
    got = (descriptor.data_type, descriptor.dims, descriptor.strides)
    if got != expected:
        rule = f"must be packed, of {place.data_type.name} and dims {place.shape}"
        raise BadParam(argument, rule, got)
