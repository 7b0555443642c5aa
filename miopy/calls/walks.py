"""What the four passes do on memory that has been checked: walks of the core over addresses by the
names of arguments. Of those that are NULL there are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..core import backward_data as data
from ..core import backward_weights as weights
from ..core import forward
from ..core.backend import Walk
from ..core.config import RNNConfig
from ..core.forward import Rows
from ..core.layout import Layout
from ..core.overlap import Span
from ..core.placement import InBuffer
from ..core.plan import Plan, plan
from ..core.sequence import Sequence as Batches
from . import dropout
from .data import DataArguments
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


class Names(NamedTuple):
    """What a walk calls the weights, or their gradients, and the spaces that it takes."""

    weights: str
    workspace: str
    reserve: str = ""  # in inference


class Work(NamedTuple):
    """What a pass does on its memory.

    walk     takes addresses by the names of arguments; of NULL ones there are none
    others   memory that it takes besides, and whether it writes it
    """

    walk: Walk
    others: tuple[tuple[Span, bool], ...] = ()


def _fill(backend: Any, tensor: Padded, address: int, elements: int) -> None:
    """Give every element of a padded tensor its padding value; valid rows are written later."""
    if tensor.index is not None and tensor.fill is not None:
        backend.fill(address, tensor.fill, elements)


def forward_work(run: Run, names: Names) -> Work:
    """Training if there is a reserve. The walk takes x, hx, cx, y, hy and cy besides `names`."""
    shapes, layout, training = run.shapes, run.layout, bool(names.reserve)
    found = None
    if training:
        rows = shapes.sequence.rows
        found = dropout.between_layers(run.backend, run.dropout, shapes.config, rows)
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
            weights=InBuffer(layout, at[names.weights]),
            y=Rows(at["y"], shapes.y.index),
            hy=at.get("hy"),
            cy=at.get("cy"),
            workspace=at[names.workspace],
            reserve=at.get(names.reserve),
            dropout=dropped,
        )

    return Work(walk, ((found[1], found[0].advances),) if found else ())


def backward_data_walk(run: Run, names: Names) -> Walk:
    """It takes dy, dhy, dcy, hx, cx, dx, dhx and dcx besides `names`."""
    shapes, layout, descriptor = run.shapes, run.layout, run.dropout

    def walk(backend: Any, at: Mapping[str, int]) -> None:
        scale = dropout.backward_scale(shapes.config, descriptor)
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
            weights=InBuffer(layout, at[names.weights]),
            dx=Rows(at["dx"], shapes.x.index),
            dhx=at.get("dhx"),
            dcx=at.get("dcx"),
            workspace=at[names.workspace],
            reserve=at[names.reserve],
            scale=scale,
        )

    return walk


def backward_weights_walk(run: Run, names: Names, *, accumulate: bool = False) -> Walk:
    """It takes x and hx besides `names`."""
    shapes, layout = run.shapes, run.layout

    def walk(backend: Any, at: Mapping[str, int]) -> None:
        weights.backward_weights(
            shapes.plan(training=True),
            backend,
            shapes.sequence,
            x=Rows(at["x"], shapes.x.index),
            hx=at.get("hx"),
            dw=InBuffer(layout, at[names.weights]),
            workspace=at[names.workspace],
            reserve=at[names.reserve],
            accumulate=accumulate,
        )

    return walk
