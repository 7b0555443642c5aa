"""The four passes once shapes and sizes have been checked: data arguments, then the core.

Every call that runs an RNN ends here, whatever describes its sequences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from ..core import backward_data as data
from ..core import backward_weights as weights
from ..core import forward
from ..core.config import RNNConfig
from ..core.forward import Rows
from ..core.layout import Layout
from ..core.placement import InBuffer
from ..core.plan import Plan, plan
from ..core.sequence import Sequence
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
    sequence: Sequence
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


def _fill(backend: Any, tensor: Padded, address: int, elements: int) -> None:
    """Give every element of a padded tensor its padding value; valid rows are written later."""
    if tensor.index is not None and tensor.fill is not None:
        backend.fill(address, tensor.fill, elements)


def run_forward(
    run: Run,
    tensors: dict[str, Any],
    w: Weights,
    workspace: Buffer,
    reserve: Buffer | None,
) -> None:
    """Training if there is a reserve. `tensors` has x, hx, cx, y, hy and cy."""
    shapes, call = run.shapes, run.arguments()
    config, has_c = shapes.config, shapes.config.record.has_cell_state
    initial, h, c = shapes.initial_elements, shapes.h_elements, shapes.c_elements
    x = call.read("x", tensors["x"], shapes.x_elements)
    address = call.read(*w, run.layout.size(config))
    hx = call.read("hx", tensors["hx"], initial, optional=True)
    cx = call.read("cx", tensors["cx"], c, optional=True) if has_c else None
    y = call.write("y", tensors["y"], shapes.y_elements)
    hy = call.write("hy", tensors["hy"], h, optional=True)
    cy = call.write("cy", tensors["cy"], c, optional=True) if has_c else None
    work = call.opaque(workspace, writable=True)
    space = call.opaque(reserve, writable=True) if reserve else None
    dropped = None
    if reserve:
        rows = shapes.sequence.rows
        dropped = dropout.between_layers(call, run.backend, run.dropout, config, rows)
    call.check_overlap(("hx", "hy"), ("cx", "cy"))
    _fill(run.backend, shapes.y, y, shapes.y_elements)
    forward.forward(
        shapes.plan(training=reserve is not None),
        run.backend,
        shapes.sequence,
        x=Rows(x, shapes.x.index),
        hx=hx,
        cx=cx,
        weights=InBuffer(run.layout, address),
        y=Rows(y, shapes.y.index),
        hy=hy,
        cy=cy,
        workspace=work,
        reserve=space,
        dropout=dropped,
    )


def run_backward_data(
    run: Run,
    tensors: dict[str, Any],
    w: Weights,
    workspace: Buffer,
    reserve: Buffer,
) -> None:
    """`tensors` has dy, dhy, dcy, hx, cx, dx, dhx and dcx."""
    shapes, call = run.shapes, run.arguments()
    config, has_c = shapes.config, shapes.config.record.has_cell_state
    initial, h, c = shapes.initial_elements, shapes.h_elements, shapes.c_elements
    dy = call.read("dy", tensors["dy"], shapes.y_elements)
    address = call.read(*w, run.layout.size(replace(config, bias="none")))
    hx = call.read("hx", tensors["hx"], initial, optional=True)
    dhy = call.read("dhy", tensors["dhy"], h, optional=True)
    cx = call.read("cx", tensors["cx"], c, optional=True) if has_c else None
    dcy = call.read("dcy", tensors["dcy"], c, optional=True) if has_c else None
    dx = call.write("dx", tensors["dx"], shapes.x_elements)
    dhx = call.write("dhx", tensors["dhx"], initial, optional=True)
    dcx = call.write("dcx", tensors["dcx"], c, optional=True) if has_c else None
    work = call.opaque(workspace, writable=True)
    space = call.opaque(reserve, writable=shapes.keeps_gradients)
    call.check_overlap()
    scale = dropout.backward_scale(config, run.dropout)
    _fill(run.backend, shapes.x, dx, shapes.x_elements)
    data.backward_data(
        shapes.plan(training=True),
        run.backend,
        shapes.sequence,
        dy=Rows(dy, shapes.y.index),
        dhy=dhy,
        dcy=dcy,
        hx=hx,
        cx=cx,
        weights=InBuffer(run.layout, address),
        dx=Rows(dx, shapes.x.index),
        dhx=dhx,
        dcx=dcx,
        workspace=work,
        reserve=space,
        scale=scale,
    )


def run_backward_weights(
    run: Run,
    tensors: dict[str, Any],
    dw: Weights,
    workspace: Buffer,
    reserve: Buffer,
    *,
    accumulate: bool = False,
) -> None:
    """`tensors` has x and hx. `accumulate` adds to dw instead of overwriting it."""
    shapes, call = run.shapes, run.arguments()
    x = call.read("x", tensors["x"], shapes.x_elements)
    hx = call.read("hx", tensors["hx"], shapes.initial_elements, optional=True)
    address = call.write(*dw, run.layout.size(shapes.config))
    work = call.opaque(workspace, writable=True)
    space = call.opaque(reserve, writable=False)
    call.check_overlap()
    weights.backward_weights(
        shapes.plan(training=True),
        run.backend,
        shapes.sequence,
        x=Rows(x, shapes.x.index),
        hx=hx,
        dw=InBuffer(run.layout, address),
        workspace=work,
        reserve=space,
        accumulate=accumulate,
    )
