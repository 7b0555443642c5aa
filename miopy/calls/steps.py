"""Reading an array of descriptors, one per time step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from ..errors import BadParam
from .arguments import LiveObject, check_descriptors, check_integer

Descriptor = TypeVar("Descriptor", bound=LiveObject)


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
    descriptors: Sequence[Descriptor],
    kind: type[Descriptor],
    count: int,
    read: Callable[[str, Descriptor], tuple[int, int]],
    *,
    count_argument: str,
) -> Steps:
    """Read the first `count` descriptors, which must be live `kind` objects.

    read   (argument, descriptor) -> batch and vector size, or BadParam

    Raises BadParam, naming the step, unless all have the vector size of step 0. Batches may grow:
    size queries answer for those too.
    """
    count = check_integer(count_argument, count, 1)
    check_descriptors(argument, descriptors, count, kind)
    batch, vector_size = read(f"{argument}[0]", descriptors[0])
    batches, previous = [], descriptors[0]
    for step in range(count):
        descriptor = descriptors[step]
        if descriptor is not previous:
            name = f"{argument}[{step}]"
            batch, vector = read(name, descriptor)
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


def check_outputs(argument: str, outputs: Steps, width: int, inputs: Steps) -> None:
    """Raise BadParam unless the steps of y, or dy, fit those of x and the RNN's output size."""
    if outputs.vector_size != width:
        rule = f"must have vector size {width}, the RNN's output size"
        raise BadParam(f"{argument}[0]", rule, outputs.vector_size)
    for step, (given, wanted) in enumerate(zip(outputs.batches, inputs.batches, strict=True)):
        if given != wanted:
            raise BadParam(f"{argument}[{step}]", f"must have the batch of x, {wanted}", given)
