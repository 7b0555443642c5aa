"""What versions 6 and 7 say of each call: descriptors of x per time step, of all weights.

A step of x is {batch, I, 1}, of y {batch, D * P, 1}, packed; batches do not grow. The weights are a
filter with all elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...calls import steps
from ...calls.arguments import check_descriptors, check_integer
from ...calls.steps import Steps
from ...core.config import RNNConfig
from ...errors import BadParam
from .descriptors import RNNDescriptor, check_algo, check_precision
from .entry import check_set
from .legacy_descriptors import ALGO, MATH_PREC, check_legacy
from .queries import weights_nbytes
from .tensor import FilterDescriptor, TensorDescriptor
from .types import cudnnDataType_t


def batch_sizes(
    argument: str, descriptors: Sequence[TensorDescriptor], seqLength: int
) -> tuple[Steps, cudnnDataType_t]:
    """The first seqLength descriptors, and the type that all of them have."""
    check_integer("seqLength", seqLength, 1)
    check_descriptors(argument, descriptors, 1, TensorDescriptor)
    data_type = descriptors[0].data_type
    found = steps.batch_sizes(
        argument,
        descriptors,
        TensorDescriptor,
        seqLength,
        lambda name, descriptor: batch_and_vector(name, descriptor, data_type),
        count_argument="seqLength",
    )
    return found, data_type


def batch_and_vector(
    argument: str, descriptor: TensorDescriptor, data_type: cudnnDataType_t
) -> tuple[int, int]:
    """Batch and vector size; BadParam unless it is packed, of three dims and of this type."""
    check_set(argument, descriptor, descriptor.is_set)
    dims = descriptor.dims
    if len(dims) != 3 or dims[2] != 1:
        raise BadParam(argument, "must have three dims, batch, vector and 1", dims)
    descriptor.check_packed(argument)
    if descriptor.data_type != data_type:
        raise BadParam(argument, f"must have type {data_type.name}", descriptor.data_type.name)
    return dims[0], dims[1]


def config_for(
    rnnDesc: RNNDescriptor, argument: str, input_size: int, data_type: cudnnDataType_t
) -> RNNConfig:
    """The core's view of an RNN that reads such vectors.

    argument   where size and type come from: a descriptor of x
    """
    check_legacy(rnnDesc)
    check_precision(argument, data_type, MATH_PREC, rnnDesc.math_precision)
    check_algo(ALGO, rnnDesc.algo, rnnDesc.has_projection, data_type)
    if rnnDesc.skip_input and input_size != rnnDesc.hidden_size:
        rule = f"must have vector size {rnnDesc.hidden_size}, the hidden size, in skip mode"
        raise BadParam(argument, rule, input_size)
    return rnnDesc.config(input_size, data_type)


def check_weights(argument: str, descriptor: FilterDescriptor, config: RNNConfig) -> None:
    """Raise BadParam unless a filter descriptor has the type and room for all parameters."""
    check_set(argument, descriptor, descriptor.is_set)
    if descriptor.element_type.name != config.dtype:
        rule = f"must have the type of x, {config.dtype}"
        raise BadParam(argument, rule, descriptor.data_type.name)
    needed = weights_nbytes(config)
    if descriptor.nbytes < needed:
        count = needed // config.itemsize
        raise BadParam(argument, f"must have at least {count} elements", descriptor.dims)
