"""Reading the descriptors of x: an array with one per time step, or any single one of them.

Only the first two dims count, batch and vector size; further dims and the strides are ignored.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from ...errors import BadParam
from .descriptors import RNNDescriptor
from .entry import check_descriptors, check_integer
from .tensor import TensorDescriptor


class Steps(NamedTuple):
    """What an array of step descriptors says.

    batches   active batch of every step, all positive; the passes need them not to grow
    """

    batches: tuple[int, ...]
    vector_size: int

    @property
    def rows(self) -> int:
        """Rows of the packed tensor. A sum over all steps: ask once."""
        return sum(self.batches)


def batch_sizes(
    argument: str,
    xDesc: Sequence[TensorDescriptor],
    sequenceLen: int,
    rnnDesc: RNNDescriptor,
    *,
    length_argument: str = "sequenceLen",
) -> Steps:
    """Read the first `sequenceLen` descriptors.

    Raises BadParam, naming the step, unless all have the RNN's data type, two dims or more and the
    vector size of step 0. Batches may grow: the size queries answer for those too.
    """
    count = check_integer(length_argument, sequenceLen, 1)
    check_descriptors(argument, xDesc, count, TensorDescriptor)
    batch, vector_size = batch_and_vector(f"{argument}[0]", xDesc[0], rnnDesc)
    batches, previous = [], xDesc[0]
    for step in range(count):
        descriptor = xDesc[step]
        if descriptor is not previous:
            name = f"{argument}[{step}]"
            batch, vector = batch_and_vector(name, descriptor, rnnDesc)
            if vector != vector_size:
                raise BadParam(name, f"must have the vector size of step 0, {vector_size}", vector)
            previous = descriptor
        batches.append(batch)
    return Steps(tuple(batches), vector_size)


def check_descending(argument: str, steps: Steps) -> None:
    """Raise BadParam, naming the step, where a batch is larger than that of the step before."""
    for step, (before, batch) in enumerate(itertools.pairwise(steps.batches), start=1):
        if batch > before:
            rule = f"must not have a larger batch than before, {before}"
            raise BadParam(f"{argument}[{step}]", rule, batch)


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
