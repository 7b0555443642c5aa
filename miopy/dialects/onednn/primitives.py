"""Primitives, and their execution on a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...calls.arguments import check_integer, check_live
from ...calls.data import OPAQUE_ALIGNMENT
from ...core.memory import Span, check_alignment, check_disjoint
from ...errors import BadParam
from .engine import Stream
from .entry import entry
from .memory import Memory, tensor_address
from .memory_descriptors import OPAQUE
from .primitive_descriptors import Argument, PrimitiveDescriptor
from .types import DNNL_ARG_SCRATCHPAD

IN_PLACE = {"dst_iter": "src_iter", "dst_iter_c": "src_iter_c"}  # may be one and the same

Arguments = Mapping[int, Any] | Iterable[tuple[int, Any]] | None


@dataclass(eq=False, slots=True)
class Primitive:
    """What dnnl_primitive_create returns."""

    c_name: ClassVar[str] = "dnnl_primitive_t"

    descriptor: PrimitiveDescriptor
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
    spans: dict[str, Span] = {}
    writes = set()
    for number, argument in descriptor.arguments.items():
        spans[argument.name] = _span(number, argument, given, engine.backend)
        if argument.is_output:
            writes.add(argument.name)
    scratchpad, of_user = None, descriptor.scratchpad
    if of_user.dims:
        own = Argument("scratchpad", "DNNL_ARG_SCRATCHPAD", of_user, True)
        spans["scratchpad"] = _span(DNNL_ARG_SCRATCHPAD, own, given, engine.backend)
        writes.add("scratchpad")
        scratchpad = spans["scratchpad"].address
    _check_overlap(spans, writes)
    addresses = {name: span.address or 0 for name, span in spans.items()}
    with engine.lock:
        if scratchpad is None:
            scratchpad = engine.scratchpad(descriptor.execution.scratchpad_nbytes)
        descriptor.execution.execute(engine.backend, addresses, scratchpad)


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


def _span(number: int, argument: Argument, given: Mapping[int, Any], backend: Any) -> Span:
    """Where an argument is; its bytes do not count if there are gaps between its elements."""
    name = f"args[{argument.macro}]"
    value, wanted = given.get(number), argument.descriptor
    if wanted is None:
        raise BadParam(name, "must have a descriptor in the primitive: it cannot do without")
    if value is None:
        raise BadParam(name, "must be given")
    if isinstance(value, Memory):
        check_live(name, value, Memory)
        if not value.descriptor.equals(wanted):
            raise BadParam(name, "must have the memory descriptor that the primitive has")
        value = value.handle
    address = tensor_address(name, value, wanted, backend, writable=argument.is_output)
    is_opaque = argument.name in ("workspace", "scratchpad") or wanted.format_kind == OPAQUE
    itemsize = wanted.element_type.itemsize
    check_alignment(name, address, OPAQUE_ALIGNMENT if is_opaque else itemsize)
    return Span(name, address, wanted.nbytes if wanted.is_dense else 0)


def _check_overlap(spans: Mapping[str, Span], writes: set[str]) -> None:
    outputs = [spans[name] for name in spans if name in writes]
    replaced = {
        source
        for target, source in IN_PLACE.items()
        if target in writes and source in spans and spans[target][1:] == spans[source][1:]
    }
    inputs = [spans[name] for name in spans if name not in writes and name not in replaced]
    check_disjoint(outputs, inputs)
