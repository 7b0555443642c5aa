"""Primitives, and their execution on a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...calls.arguments import check_integer
from ...errors import BadParam
from .engine import Stream
from .entry import entry
from .executions import Executions
from .primitive_descriptors import PrimitiveDescriptor

Arguments = Mapping[int, Any] | Iterable[tuple[int, Any]] | None


@dataclass(eq=False, slots=True)
class Primitive:
    """What dnnl_primitive_create returns."""

    c_name: ClassVar[str] = "dnnl_primitive_t"

    descriptor: PrimitiveDescriptor
    executions: Executions | None = None  # those on its own engine
    alive: bool = True


@entry
def dnnl_primitive_create(primitive_desc: PrimitiveDescriptor) -> Primitive:
    return Primitive(replace(primitive_desc))


@entry
def dnnl_primitive_get_primitive_desc(primitive: Primitive) -> PrimitiveDescriptor:
    """The primitive's own: not to be destroyed."""
    return primitive.descriptor


@entry
def dnnl_primitive_destroy(primitive: Primitive | None) -> None:
    """None is accepted."""
    if primitive is not None:
        primitive.alive = False


@entry
def dnnl_primitive_execute(
    primitive: Primitive, stream: Stream, nargs: int, args: Arguments
) -> None:
    """Put a primitive's work on a stream; the host has done it when the call returns.

    nargs   how many arguments there are
    args    memory objects, arrays or addresses by DNNL_ARG, or pairs of both. Numbers that the
            primitive does not have are ignored. An array must be contiguous and hold the tensor

    BadParam if an argument is missing, was made with another memory descriptor than the primitive
    has, or overlaps an output; a state may be replaced in place. Whether tensors with gaps between
    their elements overlap is not looked at.
    """
    descriptor, engine = primitive.descriptor, stream.engine
    if engine.kind != descriptor.engine.kind:
        raise BadParam("stream", f"must be of a {descriptor.engine.kind.name} engine")
    given = _read(check_integer("nargs", nargs, 0), args)
    executions = primitive.executions
    if executions is None or executions.engine is not engine:
        executions = Executions(descriptor, engine)
        if engine is descriptor.engine:  # another would live as long as the primitive
            primitive.executions = executions
    executions.run(given)


def _read(count: int, args: Arguments) -> dict[int, Any]:
    """The first `count` arguments by number."""
    try:
        pairs = list(args.items() if isinstance(args, Mapping) else args or ())
        given = dict(pairs[:count])
    except (TypeError, ValueError):
        raise BadParam("args", "must be a mapping, or pairs of numbers and arguments") from None
    if len(pairs) < count:
        raise BadParam("args", f"must hold {count} arguments", len(pairs))
    return given
