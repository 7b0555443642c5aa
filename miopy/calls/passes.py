"""The four passes once shapes and sizes have been checked, ready to run on any data.

Every call that runs an RNN ends here, whatever describes its sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..core import backward_data as data
from ..core import backward_weights as weights
from ..core import forward
from ..core.backend import Walk
from ..core.config import RNNConfig
from ..core.forward import Rows
from ..core.layout import Layout
from ..core.overlap import Span, are_apart
from ..core.placement import InBuffer
from ..core.plan import Plan, plan
from ..core.sequence import Sequence as Batches
from . import dropout
from .data import Buffer, DataArguments
from .dropout import DropoutDescription


class Padded(NamedTuple):
    """Where x or y keeps each packed row.

    rows    of the tensor, those that hold no step included
    index   row of every packed row; None if the tensor is packed
    fill    bytes of the element that goes to rows without a step; None leaves them untouched
    """

    rows: int
    index: Any = None
    fill: bytes | None = None


class Shapes(NamedTuple):
    """The shapes of one call.

    keeps_gradients   backward data leaves in the reserve, not in the workspace, what backward
                      weights needs
    """

    config: RNNConfig
    sequence: Batches
    x: Padded
    y: Padded
    keeps_gradients: bool = False

    @property
    def x_elements(self) -> int:
        return self.x.rows * self.config.input_size

    @property
    def y_elements(self) -> int:
        return self.y.rows * self.config.output_size

    @property
    def h_elements(self) -> int:
        return self.config.num_layers * self.sequence.batch * self.config.layer_output_size

    @property
    def initial_elements(self) -> int:
        config = self.config
        features = config.num_directions * config.initial_size
        return config.num_layers * self.sequence.batch * features

    @property
    def c_elements(self) -> int:
        config = self.config
        units = config.num_directions * config.hidden_size
        return config.num_layers * self.sequence.batch * units

    def plan(self, *, training: bool) -> Plan:
        return plan(
            self.config,
            self.sequence.rows,
            training=training,
            padded=self.x.index is not None or self.y.index is not None,
            keeps_gradients=self.keeps_gradients,
        )


class Run(NamedTuple):
    """What runs, and on what.

    backend   the handle's
    dropout   the RNN's descriptor; needed only if the config has dropout
    """

    backend: Any
    layout: Layout
    shapes: Shapes
    dropout: DropoutDescription | None

    def arguments(self) -> DataArguments:
        config = self.shapes.config
        return DataArguments(self.backend, config.dtype, config.itemsize)


class Weights(NamedTuple):
    """The weights, or their gradients, as the caller passed them."""

    argument: str
    value: Any


class Work(NamedTuple):
    """What a pass does on its memory.

    walk     takes addresses by the names of arguments; of NULL ones there are none
    others   memory that it takes besides, and whether it writes it
    """

    walk: Walk
    others: tuple[tuple[Span, bool], ...] = ()


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
        self._reads = [(names.index(each.name), each.read) for each in self._memory.arguments]

    def run(self, values: Sequence[Any]) -> None:
        """Run on what a caller passes; all of it is checked before anything is written."""
        addresses = [read(values[place]) for place, read in self._reads]
        # Where nothing overlapped in the call before, nothing does in the same places.
        if addresses != self._checked:
            self._check(addresses)
        if self._prepared is None or None in addresses:
            self._walk(addresses)
        else:
            self._prepared(addresses)

    def run_on(self, tensors: Mapping[str, Any], *others: Weights | Buffer | None) -> None:
        """Run on what the pass was described with."""
        values = {**tensors, **{each.argument: each.value for each in others if each}}
        self.take_from(tuple(values))
        self.run(tuple(values.values()))

    def _check(self, addresses: list[Any]) -> None:
        others = self._known_work().others
        if others or None in addresses or not are_apart(addresses, self._sizes):
            self._memory.check_overlap(addresses, self._in_place, others)
        self._checked = addresses

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


def _fill(backend: Any, tensor: Padded, address: int, elements: int) -> None:
    """Give every element of a padded tensor its padding value; valid rows are written later."""
    if tensor.index is not None and tensor.fill is not None:
        backend.fill(address, tensor.fill, elements)


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

    weights_name, workspace_name = w.argument, workspace.argument
    reserve_name = reserve.argument if reserve else ""
    training, rows = reserve is not None, shapes.sequence.rows
    backend, layout, _, descriptor = run._replace(dropout=dropout.values_of(run.dropout))

    def work() -> Work:
        found = None
        if training:
            found = dropout.between_layers(backend, descriptor, config, rows)
        dropped = found and found[0]

        def walk(backend: Any, at: Mapping[str, int]) -> None:
            _fill(backend, shapes.y, at["y"], shapes.y_elements)
            forward.forward(
                shapes.plan(training=training),
                backend,
                shapes.sequence,
                x=Rows(at["x"], shapes.x.index),
                hx=at.get("hx"),
                cx=at.get("cx"),
                weights=InBuffer(layout, at[weights_name]),
                y=Rows(at["y"], shapes.y.index),
                hy=at.get("hy"),
                cy=at.get("cy"),
                workspace=at[workspace_name],
                reserve=at.get(reserve_name),
                dropout=dropped,
            )

        return Work(walk, ((found[1], found[0].advances),) if found else ())

    return Pass(run, memory, work, {"hx": "hy", "cx": "cy"})


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
    weights_name, workspace_name, reserve_name = w.argument, workspace.argument, reserve.argument
    layout, descriptor = run.layout, dropout.values_of(run.dropout)

    def walk(backend: Any, at: Mapping[str, int]) -> None:
        scale = dropout.backward_scale(config, descriptor)
        _fill(backend, shapes.x, at["dx"], shapes.x_elements)
        data.backward_data(
            shapes.plan(training=True),
            backend,
            shapes.sequence,
            dy=Rows(at["dy"], shapes.y.index),
            dhy=at.get("dhy"),
            dcy=at.get("dcy"),
            hx=at.get("hx"),
            cx=at.get("cx"),
            weights=InBuffer(layout, at[weights_name]),
            dx=Rows(at["dx"], shapes.x.index),
            dhx=at.get("dhx"),
            dcx=at.get("dcx"),
            workspace=at[workspace_name],
            reserve=at[reserve_name],
            scale=scale,
        )

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
    dw_name, workspace_name, reserve_name = dw.argument, workspace.argument, reserve.argument
    layout = run.layout

    def walk(backend: Any, at: Mapping[str, int]) -> None:
        weights.backward_weights(
            shapes.plan(training=True),
            backend,
            shapes.sequence,
            x=Rows(at["x"], shapes.x.index),
            hx=at.get("hx"),
            dw=InBuffer(layout, at[dw_name]),
            workspace=at[workspace_name],
            reserve=at[reserve_name],
            accumulate=accumulate,
        )

    return Pass(run, memory, lambda: Work(walk))
