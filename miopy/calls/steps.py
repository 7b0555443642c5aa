"""Reading an array of descriptors, one per time step, or any single one of them.

Only the first two dims count, batch and vector size; further dims and the strides are ignored.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from ..errors import BadParam
from .arguments import LiveObject, check_descriptors, check_integer


class StepDescription(LiveObject, Protocol):
    """What is read of a step's tensor descriptor."""

    @property
    def data_type(self) -> IntEnum: ...

    @property
    def dims(self) -> tuple[int, ...]: ...


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
    descriptors: Sequence[StepDescription],
    kind: type[StepDescription],
    count: int,
    data_type: IntEnum,
    *,
    count_argument: str,
) -> Steps:
    """Read the first `count` descriptors, which must be live `kind` objects.

    Raises BadParam, naming the step, unless all have the RNN's data type, two dims or more and the
    vector size of step 0. Batches may grow: size queries answer for those too.
    """
    count = check_integer(count_argument, count, 1)
    check_descriptors(argument, descriptors, count, kind)
    batch, vector_size = batch_and_vector(f"{argument}[0]", descriptors[0], data_type)
    batches, previous = [], descriptors[0]
    for step in range(count):
        descriptor = descriptors[step]
        if descriptor is not previous:
            name = f"{argument}[{step}]"
            batch, vector = batch_and_vector(name, descriptor, data_type)
            if vector != vector_size:
                raise BadParam(name, f"must have the vector size of step 0, {vector_size}", vector)
            previous = descriptor
        batches.append(batch)
    return Steps(tuple(batches), vector_size)


def batch_and_vector(
    argument: str, descriptor: StepDescription, data_type: IntEnum
) -> tuple[int, int]:
    """The first two dims, after a check of the data type."""
    if descriptor.data_type != data_type:
        rule = f"must have the RNN's data type, {data_type.name}"
        raise BadParam(argument, rule, descriptor.data_type.name)
    if len(descriptor.dims) < 2:
        raise BadParam(argument, "must have two dims or more, batch and vector", descriptor.dims)
    return descriptor.dims[0], descriptor.dims[1]


def check_descending(argument: str, steps: Steps) -> None:
    """Raise BadParam, naming the step, where a batch is larger than that of the step before."""
    for step, (before, batch) in enumerate(itertools.pairwise(steps.batches), start=1):
        if batch > before:
            rule = f"must not have a larger batch than before, {before}"
            raise BadParam(f"{argument}[{step}]", rule, batch)


def check_outputs(argument: str, outputs: Steps, width: int, inputs: Steps) -> None:
    """Raise BadParam unless the steps of y, or dy, fit those of x and the RNN's output size."""
    if outputs.vector_size != width:
        raise BadParam(
            f"{argument}[0]", f"must have vector size {width}, D * H", outputs.vector_size
        )
    for step, (given, wanted) in enumerate(zip(outputs.batches, inputs.batches, strict=True)):
        if given != wanted:
            raise BadParam(f"{argument}[{step}]", f"must have the batch of x, {wanted}", given)
