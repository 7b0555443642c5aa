"""Reading the descriptors of x: an array with one per time step, or any single one of them."""

from __future__ import annotations

from collections.abc import Sequence

from ...calls import steps
from ...calls.steps import Steps
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
        rnnDesc.data_type,
        count_argument=length_argument,
    )


def batch_and_vector(
    argument: str, descriptor: TensorDescriptor, rnnDesc: RNNDescriptor
) -> tuple[int, int]:
    """The first two dims, after a check of the data type."""
    return steps.batch_and_vector(argument, descriptor, rnnDesc.data_type)
