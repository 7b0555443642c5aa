"""What executions of a primitive on one engine share: how arguments are read, and what runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...calls.arguments import check_live
from ...calls.data import OPAQUE_ALIGNMENT
from ...core.memory import check_alignment
from ...core.overlap import Span, check_disjoint
from ...errors import BadParam
from .engine import Engine
from .memory import Memory, tensor_reader
from .memory_descriptors import OPAQUE
from .primitive_descriptors import Argument, PrimitiveDescriptor
from .types import DNNL_ARG_SCRATCHPAD

IN_PLACE = {"dst_iter": "src_iter", "dst_iter_c": "src_iter_c"}  # may be one and the same
SCRATCHPAD, WORKSPACE = "scratchpad", "workspace"


class Place:
    """An argument of executions.

    nbytes   that must not overlap an output: none if there are gaps between elements
    """

    def __init__(self, number: int, argument: Argument, engine: Engine) -> None:
        self.number, self.name, self.is_output = number, argument.name, argument.is_output
        self.label = f"args[{argument.macro}]"
        wanted = argument.descriptor
        if wanted is None:
            rule = "must have a descriptor in the primitive: it cannot do without"
            raise BadParam(self.label, rule)
        self._wanted, self._equal = wanted, wanted
        self.nbytes = wanted.nbytes if wanted.is_dense else 0
        self._read = tensor_reader(self.label, wanted, engine.backend, writable=argument.is_output)
        is_space = wanted.format_kind == OPAQUE or argument.name in (WORKSPACE, SCRATCHPAD)
        self._alignment = OPAQUE_ALIGNMENT if is_space else wanted.element_type.itemsize

    def address(self, value: Any) -> int:
        """Where a memory object, an array or an address says; 0 of a tensor without elements."""
        if value is None:
            raise BadParam(self.label, "must be given")
        if isinstance(value, Memory):
            check_live(self.label, value, Memory)
            descriptor = value.descriptor
            if descriptor is not self._equal:
                if not descriptor.equals(self._wanted):
                    rule = "must have the memory descriptor that the primitive has"
                    raise BadParam(self.label, rule)
                self._equal = descriptor
            value = value.handle
        address = self._read(value)
        check_alignment(self.label, address, self._alignment)
        return address


class Executions:
    """A primitive on an engine. After the second time the backend may have prepared what runs."""

    def __init__(self, descriptor: PrimitiveDescriptor, engine: Engine) -> None:
        self.engine = engine
        self._execution = descriptor.execution
        self._places = [Place(*each, engine) for each in descriptor.arguments.items()]
        of_user = descriptor.scratchpad
        if of_user.dims:
            own = Argument(SCRATCHPAD, "DNNL_ARG_SCRATCHPAD", of_user, True)
            self._places.append(Place(DNNL_ARG_SCRATCHPAD, own, engine))
        self._lends_scratchpad = not of_user.dims
        self._names = tuple(place.name for place in self._places)
        self._names += (SCRATCHPAD,) if self._lends_scratchpad else ()
        self._checked: list[int] | None = None
        self._count = 0
        self._prepared: Callable[[list[int]], None] | None = None

    def run(self, given: Mapping[int, Any]) -> None:
        """Execute on arguments by their numbers; all are checked before anything is written."""
        addresses = [place.address(given.get(place.number)) for place in self._places]
        # Where nothing overlapped in the execution before, nothing does in the same places.
        if addresses != self._checked:
            self._check_overlap(addresses)
            self._checked = addresses
        engine = self.engine
        with engine.lock:
            if self._lends_scratchpad:
                lent = engine.scratchpad(self._execution.scratchpad_nbytes)
                addresses = [*addresses, lent]
            if self._prepared is not None:
                self._prepared(addresses)
                return
            self._walk(engine.backend, dict(zip(self._names, addresses, strict=True)))
            self._count += 1
            if self._count == 2:
                self._prepared = engine.backend.prepare(self._walk, self._names)

    def _walk(self, backend: Any, at: Mapping[str, int]) -> None:
        self._execution.execute(backend, at, at[SCRATCHPAD])

    def _check_overlap(self, addresses: list[int]) -> None:
        spans = {
            place.name: Span(place.label, address, place.nbytes)
            for place, address in zip(self._places, addresses, strict=True)
        }
        writes = {place.name for place in self._places if place.is_output}
        replaced = {
            source
            for target, source in IN_PLACE.items()
            if target in writes and source in spans and spans[target][1:] == spans[source][1:]
        }
        inputs = [spans[name] for name in spans if name not in writes and name not in replaced]
        check_disjoint([spans[name] for name in spans if name in writes], inputs)
