"""The four passes once shapes and sizes have been checked, ready to run on any data.

Every call that runs an RNN ends here, whatever describes its sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..core._reader import read_each
from ..core.overlap import are_apart
from . import dropout
from .data import Buffer, DataArguments
from .walks import (
    Names,
    Run,
    Work,
    backward_data_walk,
    backward_weights_walk,
    forward_work,
)


class Weights(NamedTuple):
    """The weights, or their gradients, as the caller passed them."""

    argument: str
    value: Any


class Pass:
    """What calls with the same descriptors, sizes and NULL arguments do, for any data. It keeps
    names of arguments, never what was passed.

    work       called once memory has been found at all arguments; it may still refuse
    in_place   see `DataArguments.check_overlap`

    `repeats` is set for a pass that is to run again: the backend may prepare it.
    """

    def __init__(
        self,
        run: Run,
        memory: DataArguments,
        work: Callable[[], Work],
        in_place: Mapping[str, str] | None = None,
    ) -> None:
        self.rows = run.shapes.sequence.rows
        self._backend, self._memory, self._in_place = run.backend, memory, in_place or {}
        self._names = tuple(each.name for each in memory.arguments)
        self._sizes = tuple(each.nbytes for each in memory.arguments)
        self._find_work = work
        self._work: Work | None = None
        self.repeats = False
        self._checked: list[Any] | None = None
        self._prepared: Callable[[list[Any]], None] | None = None
        self.take_from(self._names)

    def take_from(self, names: Sequence[str]) -> None:
        """Let the values of calls have these names; others than the pass's are not looked at."""
        reads = [(names.index(each.name), each.read) for each in self._memory.arguments]
        self._reads = tuple(reads)

    def run(self, values: tuple[Any, ...]) -> None:
        """Run on what a caller passes; all of it is checked before anything is written."""
        addresses = read_each(self._reads, values)
        # Where nothing overlapped in the call before, nothing does in the same places.
        if addresses != self._checked:
            self._check(addresses)
            if None in addresses:
                self._walk(addresses)
                return
            self._checked = addresses
        if self._prepared is None:
            self._walk(addresses)
        else:
            self._prepared(addresses)

    def _check(self, addresses: list[Any]) -> None:
        others = self._known_work().others
        if others or None in addresses or not are_apart(addresses, self._sizes):
            self._memory.check_overlap(addresses, self._in_place, others)

    def _walk(self, addresses: list[Any]) -> None:
        at, walk = zip(self._names, addresses, strict=True), self._known_work().walk
        walk(self._backend, {name: address for name, address in at if address is not None})
        if self.repeats:
            self.repeats = False  # whatever becomes of it, it is asked for once
            self._prepared = self._backend.prepare(walk, self._names)

    def _known_work(self) -> Work:
        if self._work is None:
            self._work = self._find_work()
        return self._work


def forward_pass(
    run: Run,
    tensors: Mapping[str, Any],
    w: Weights,
    workspace: Buffer,
    reserve: Buffer | None,
) -> Pass:
    """Training if there is a reserve. `tensors` has x, hx, cx, y, hy and cy."""
    shapes, memory = run.shapes, run.arguments()
    config, has_c = shapes.config, shapes.config.record.has_cell_state
    memory.read("x", tensors["x"], shapes.x_elements)
    memory.read(*w, run.layout.size(config))
    memory.read("hx", tensors["hx"], shapes.initial_elements, optional=True)
    if has_c:
        memory.read("cx", tensors["cx"], shapes.c_elements, optional=True)
    memory.write("y", tensors["y"], shapes.y_elements)
    memory.write("hy", tensors["hy"], shapes.h_elements, optional=True)
    if has_c:
        memory.write("cy", tensors["cy"], shapes.c_elements, optional=True)
    memory.opaque(workspace, writable=True)
    if reserve:
        memory.opaque(reserve, writable=True)

    names = Names(w.argument, workspace.argument, reserve.argument if reserve else "")
    run = run._replace(dropout=dropout.values_of(run.dropout))
    return Pass(run, memory, lambda: forward_work(run, names), {"hx": "hy", "cx": "cy"})


def backward_data_pass(
    run: Run,
    tensors: Mapping[str, Any],
    w: Weights,
    workspace: Buffer,
    reserve: Buffer,
) -> Pass:
    """`tensors` has dy, dhy, dcy, hx, cx, dx, dhx and dcx."""
    shapes, memory = run.shapes, run.arguments()
    config, has_c = shapes.config, shapes.config.record.has_cell_state
    memory.read("dy", tensors["dy"], shapes.y_elements)
    memory.read(*w, run.layout.size(replace(config, bias="none")))
    memory.read("hx", tensors["hx"], shapes.initial_elements, optional=True)
    memory.read("dhy", tensors["dhy"], shapes.h_elements, optional=True)
    for name in ("cx", "dcy") if has_c else ():
        memory.read(name, tensors[name], shapes.c_elements, optional=True)
    memory.write("dx", tensors["dx"], shapes.x_elements)
    memory.write("dhx", tensors["dhx"], shapes.initial_elements, optional=True)
    if has_c:
        memory.write("dcx", tensors["dcx"], shapes.c_elements, optional=True)
    memory.opaque(workspace, writable=True)
    memory.opaque(reserve, writable=shapes.keeps_gradients)
    names = Names(w.argument, workspace.argument, reserve.argument)
    walk = backward_data_walk(run._replace(dropout=dropout.values_of(run.dropout)), names)
    return Pass(run, memory, lambda: Work(walk))


def backward_weights_pass(
    run: Run,
    tensors: Mapping[str, Any],
    dw: Weights,
    workspace: Buffer,
    reserve: Buffer,
    *,
    accumulate: bool = False,
) -> Pass:
    """`tensors` has x and hx. `accumulate` adds to dw instead of overwriting it."""
    shapes, memory = run.shapes, run.arguments()
    memory.read("x", tensors["x"], shapes.x_elements)
    memory.read("hx", tensors["hx"], shapes.initial_elements, optional=True)
    memory.write(*dw, run.layout.size(shapes.config))
    memory.opaque(workspace, writable=True)
    memory.opaque(reserve, writable=False)
    names = Names(dw.argument, workspace.argument, reserve.argument)
    walk = backward_weights_walk(run, names, accumulate=accumulate)
    return Pass(run, memory, lambda: Work(walk))
