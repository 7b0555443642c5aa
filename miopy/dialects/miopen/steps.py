"""Reading the descriptors of x: an array with one per time step, or any single one of them.

Only the first two dims count, batch and vector size; further dims and the strides are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...calls import steps
from ...calls.steps import Steps
from ...errors import BadParam
from .descriptors import RNNDescriptor
from .tensor import TensorDescriptor


def batch_sizes(
    argument: str,
    xDesc: Sequence[TensorDescriptor],
    sequenceLen: int,
    rnnDesc: RNNDescriptor,
    *,
    length_argument: str = "sequenceLen",
) -> Steps:
    """The first `sequenceLen` descriptors, which must have the RNN's data type."""
    return steps.batch_sizes(
        argument,
        xDesc,
        TensorDescriptor,
        sequenceLen,
        lambda name, descriptor: batch_and_vector(name, descriptor, rnnDesc),
        count_argument=length_argument,
    )


def batch_and_vector(
    argument: str, descriptor: TensorDescriptor, rnnDesc: RNNDescriptor
) -> tuple[int, int]:
    """The first two dims, after a check of the data type."""
    if descriptor.data_type != rnnDesc.data_type:
        rule = f"must have the RNN's data type, {rnnDesc.data_type.name}"
        raise BadParam(argument, rule, descriptor.data_type.name)
    if len(descriptor.dims) < 2:
        raise BadParam(argument, "must have two dims or more, batch and vector", descriptor.dims)
    return descriptor.dims[0], descriptor.dims[1]
