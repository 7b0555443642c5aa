"""Primitive descriptors that are asked for, right and wrong ones, and the status each gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from onednn_library import CPU
from onednn_names import (
    ACTIVATIONS,
    BACKWARD,
    BACKWARD_TAGS,
    DATA_TYPES,
    DIRECTION_NUMBERS,
    FORWARD_TRAINING,
    PLAIN,
    TAGS,
)
from onednn_problems import Problem
from onednn_program import create

SUCCESS = 0
UNKNOWN = 7  # no direction, no flag, no activation
LAYOUTS = {3: ("tnc", "ntc"), 4: ("ldnc", "ldoi"), 5: ("ldigo", "ldgoi")}
PROP_KINDS = (0, 32, 64, 96, 128, 160, 192, 193)


class Descriptor(NamedTuple):
    shape: tuple[int, ...]
    dtype: str
    tag: str = ""
    strides: tuple[int, ...] = ()  # instead of a tag


@dataclass(frozen=True)
class Request:
    """The arguments of dnnl_<kind>_<pass>_primitive_desc_create; absent descriptors are NULL."""

    kind: str
    is_backward: bool
    prop_kind: int
    activation: int
    direction: int
    descriptors: Mapping[str, Descriptor]
    flags: int = 0

    def status(self, api: Any) -> int:
        """What an implementation says to it."""
        return status_of(self.create, api)

    def create(self, api: Any) -> Any:
        """The primitive descriptor."""
        descs = {name: memory_desc(api, desc) for name, desc in self.descriptors.items()}
        return create(
            *(api, api.dnnl_engine_create(CPU, 0), self.kind, self.is_backward, self.prop_kind),
            *(self.activation, self.direction, descs, self.flags),
            alpha=0.0,
            rest=[None] * (1 + self.is_backward),
        )

    def without(self, *names: str) -> Request:
        kept = {name: desc for name, desc in self.descriptors.items() if name not in names}
        return replace(self, descriptors=kept)

    def changed(self, name: str, **fields: Any) -> Request:
        """The same but for some fields of one descriptor."""
        desc = self.descriptors[name]._replace(**fields)
        return replace(self, descriptors={**self.descriptors, name: desc})


def status_of(call: Callable[..., Any], *arguments: Any) -> int:
    """What an implementation says to a call; an exception without a status is a failure."""
    try:
        call(*arguments)
    except Exception as error:
        return int(error.status)
    return SUCCESS


def memory_desc(api: Any, desc: Descriptor) -> Any:
    shape, dtype = list(desc.shape), DATA_TYPES[desc.dtype]
    if desc.strides:
        strides = list(desc.strides)
        return api.dnnl_memory_desc_create_with_strides(len(shape), shape, dtype, strides)
    return api.dnnl_memory_desc_create_with_tag(len(shape), shape, dtype, TAGS[desc.tag])


def request(problem: Problem, *, is_backward: bool) -> Request:
    """That of a problem, which is right."""
    descriptors = {}
    for name, shape in (problem.inputs | problem.outputs).items():
        plain = PLAIN[len(shape)]
        tag = BACKWARD_TAGS.get(name, plain) if is_backward else plain
        descriptors[name] = Descriptor(shape, problem.dtype_of(name), tag)
        if is_backward:
            descriptors["diff_" + name] = Descriptor(shape, "float32", plain)
    return Request(
        problem.cell.kind,
        is_backward,
        BACKWARD if is_backward else FORWARD_TRAINING,
        ACTIVATIONS.get(problem.cell.activation, 0),
        DIRECTION_NUMBERS[problem.direction],
        descriptors,
    )


def dense(shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    """Strides of a dense tensor whose last dimension takes so many elements per step."""
    strides = [step]
    for length in reversed(shape[1:]):
        strides.insert(0, strides[0] * length)
    return tuple(strides)


def variations(right: Request) -> Iterator[tuple[str, Request]]:
    """Requests that differ from a right one in one thing, named by it."""
    for prop_kind in PROP_KINDS:
        yield f"prop_kind {prop_kind}", replace(right, prop_kind=prop_kind)
    for direction in (*range(5), UNKNOWN):
        yield f"direction {direction}", replace(right, direction=direction)
    if right.kind == "vanilla_rnn":
        yield "activation", replace(right, activation=UNKNOWN)
    yield "flags", replace(right, flags=1 << UNKNOWN)
    for name, (shape, dtype, tag, _) in right.descriptors.items():
        yield f"no {name}", right.without(name)
        for axis, length in enumerate(shape):
            for other in {0, length - 1, length + 1} - {length}:
                longer = (*shape[:axis], other, *shape[axis + 1 :])
                yield f"{name}, axis {axis}: {other}", right.changed(name, shape=longer)
        for other_type in DATA_TYPES.keys() - {dtype}:
            yield f"{name} {other_type}", right.changed(name, dtype=other_type)
        for other_tag in {*LAYOUTS[len(shape)], "any"} - {tag}:
            yield f"{name} {other_tag}", right.changed(name, tag=other_tag)
        yield f"{name}, gaps", right.changed(name, strides=dense(shape, 2))
        flat = PLAIN.get(len(shape) - 1, "nc")
        yield f"{name}, flat", right.changed(name, shape=shape[1:], tag=flat)
