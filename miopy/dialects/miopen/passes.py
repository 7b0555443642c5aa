"""The four passes once shapes and sizes have been checked: data arguments, then the core.

Both families of calls, per step and per sequence, end here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from ...core import backward_data as data
from ...core import backward_weights as weights
from ...core import forward
from ...core.config import RNNConfig
from ...core.forward import Rows
from ...core.plan import Plan, plan
from ...core.sequence import Sequence
from . import runs
from .descriptors import RNNDescriptor
from .handle import Handle
from .layout import MIOPEN


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
    """The shapes of one call."""

    config: RNNConfig
    sequence: Sequence
    x: Padded
    y: Padded

    @property
    def x_elements(self) -> int:
        return self.x.rows * self.config.input_size

    @property
    def y_elements(self) -> int:
        return self.y.rows * self.config.output_size

    @property
    def state_elements(self) -> int:
        return self.config.num_layers * self.sequence.batch * self.config.output_size

    def plan(self, *, training: bool) -> Plan:
        padded = self.x.index is not None or self.y.index is not None
        return plan(self.config, self.sequence.rows, training=training, padded=padded)


class Buffer(NamedTuple):
    """An opaque buffer as the caller passed it."""

    value: Any
    nbytes: int


def _fill(handle: Handle, tensor: Padded, address: int, elements: int) -> None:
    """Give every element of a padded tensor its padding value; valid rows are written later."""
    if tensor.index is not None and tensor.fill is not None:
        handle.backend.fill(address, tensor.fill, elements)


def run_forward(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    shapes: Shapes,
    tensors: dict[str, Any],
    workspace: Buffer,
    reserve: Buffer | None,
) -> None:
    """Training if there is a reserve. `tensors` has x, w, hx, cx, y, hy and cy."""
    call = runs.Arguments(handle, rnnDesc)
    config, state = shapes.config, shapes.state_elements
    is_lstm = config.record.has_cell_state
    x = call.read("x", tensors["x"], shapes.x_elements)
    w = call.read("w", tensors["w"], MIOPEN.size(config))
    hx = call.read("hx", tensors["hx"], state, optional=True)
    cx = call.read("cx", tensors["cx"], state, optional=True) if is_lstm else None
    y = call.write("y", tensors["y"], shapes.y_elements)
    hy = call.write("hy", tensors["hy"], state, optional=True)
    cy = call.write("cy", tensors["cy"], state, optional=True) if is_lstm else None
    work = call.opaque("workSpace", *workspace, writable=True)
    space = call.opaque("reserveSpace", *reserve, writable=True) if reserve else None
    dropout = None
    if reserve:
        dropout = runs.inter_layer_dropout(call, handle, rnnDesc, config, shapes.sequence.rows)
    call.check_overlap(("hx", "hy"), ("cx", "cy"))
    _fill(handle, shapes.y, y, shapes.y_elements)
    forward.forward(
        shapes.plan(training=reserve is not None),
        handle.backend,
        MIOPEN,
        shapes.sequence,
        x=Rows(x, shapes.x.index),
        hx=hx,
        cx=cx,
        weights=w,
        y=Rows(y, shapes.y.index),
        hy=hy,
        cy=cy,
        workspace=work,
        reserve=space,
        dropout=dropout,
    )


def run_backward_data(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    shapes: Shapes,
    tensors: dict[str, Any],
    workspace: Buffer,
    reserve: Buffer,
) -> None:
    """`tensors` has dy, dhy, dcy, w, hx, cx, dx, dhx and dcx."""
    call = runs.Arguments(handle, rnnDesc)
    config, state = shapes.config, shapes.state_elements
    is_lstm = config.record.has_cell_state
    dy = call.read("dy", tensors["dy"], shapes.y_elements)
    w = call.read("w", tensors["w"], MIOPEN.size(replace(config, bias="none")))
    hx = call.read("hx", tensors["hx"], state, optional=True)
    dhy = call.read("dhy", tensors["dhy"], state, optional=True)
    cx = call.read("cx", tensors["cx"], state, optional=True) if is_lstm else None
    dcy = call.read("dcy", tensors["dcy"], state, optional=True) if is_lstm else None
    dx = call.write("dx", tensors["dx"], shapes.x_elements)
    dhx = call.write("dhx", tensors["dhx"], state, optional=True)
    dcx = call.write("dcx", tensors["dcx"], state, optional=True) if is_lstm else None
    work = call.opaque("workSpace", *workspace, writable=True)
    space = call.opaque("reserveSpace", *reserve, writable=False)
    call.check_overlap()
    runs.check_rate(config, rnnDesc)
    _fill(handle, shapes.x, dx, shapes.x_elements)
    data.backward_data(
        shapes.plan(training=True),
        handle.backend,
        MIOPEN,
        shapes.sequence,
        dy=Rows(dy, shapes.y.index),
        dhy=dhy,
        dcy=dcy,
        hx=hx,
        cx=cx,
        weights=w,
        dx=Rows(dx, shapes.x.index),
        dhx=dhx,
        dcx=dcx,
        workspace=work,
        reserve=space,
        scale=runs.keep_scale(rnnDesc) if config.dropout else 1.0,
    )


def run_backward_weights(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    shapes: Shapes,
    tensors: dict[str, Any],
    workspace: Buffer,
    reserve: Buffer,
) -> None:
    """`tensors` has x, hx and dw."""
    call = runs.Arguments(handle, rnnDesc)
    x = call.read("x", tensors["x"], shapes.x_elements)
    hx = call.read("hx", tensors["hx"], shapes.state_elements, optional=True)
    dw = call.write("dw", tensors["dw"], MIOPEN.size(shapes.config))
    work = call.opaque("workSpace", *workspace, writable=True)
    space = call.opaque("reserveSpace", *reserve, writable=False)
    call.check_overlap()
    weights.backward_weights(
        shapes.plan(training=True),
        handle.backend,
        MIOPEN,
        shapes.sequence,
        x=Rows(x, shapes.x.index),
        hx=hx,
        dw=dw,
        workspace=work,
        reserve=space,
    )
