"""Gradients of the parameters, from the dgates that backward data left in the workspace."""

from __future__ import annotations

from dataclasses import dataclass

from .backend import Backend, Layer, Matrix
from .backward_data import Gradients, gate_rows, input_runs
from .config import RNNConfig
from .forward import Rows, columns, h_address, layer_of, reserved
from .layout import Block, Layout
from .plan import Plan
from .sequence import Sequence


def backward_weights(
    plan: Plan,
    backend: Backend,
    layout: Layout,
    sequence: Sequence,
    *,
    x: Rows,
    hx: int | None,
    dw: int,
    workspace: int,
    reserve: int,
    accumulate: bool = False,
) -> None:
    """The gradients of all parameters: dw, laid out as the weights, is overwritten or added to.

    x            (T, I)       as forward got it
    hx           (L*D, N, S)  as forward got it; None means zeros
    workspace    as backward data left it, if the plan keeps dgates there; else any
    reserve      as the passes before left it; only read
    """
    config, left = plan.config, Gradients(plan, workspace, reserve)
    source = x.address
    if x.index is not None:
        source = plan.workspace.address(workspace, "packed_x")
        backend.gather_rows(source, x.address, x.index, config.input_size * config.itemsize)
    for layer in range(config.num_layers):
        outputs = plan.reserve.address(reserve, "outputs", layer)
        for direction in range(config.num_directions):
            run = layer_of(plan, layout, sequence, layer, direction)
            index = layer * config.num_directions + direction
            states = columns(config, outputs, direction)
            before = Matrix(
                states.address,
                states.row,
                index=sequence.previous_rows[direction],
                other=h_address(config, sequence, hx, index),
                other_row=config.state_size,
            )
            sums = Sums(backend, run, left.dgates(layer, direction), dw, plan.rows, accumulate)
            hidden = reserved(plan, reserve, "hidden", layer, direction) or 0
            sums.recurrent_matrices(before, hidden)
            if run.input.offset is not None:
                sums.input_matrices(Matrix(source, run.input_size))
            if run.projection is not None:
                sums.projection(left.output(layer, direction), hidden)
            sums.biases()
            if run.peepholes is not None:
                sums.peepholes(run.peepholes)
        source = outputs
        if config.dropout and layer < config.num_layers - 1:
            source = plan.reserve.address(reserve, "dropped", layer)


def recurrent_runs(config: RNNConfig, position: tuple[int, ...]) -> list[tuple[int, int, bool]]:
    """Gates whose recurrent products are alike: (first one in layout order, how many, if late)."""
    record = config.record
    if record.late is None:
        return [(0, config.num_gates, False)]
    at = position[record.gates.index(record.late)]
    runs = (0, at, False), (at, 1, True), (at + 1, config.num_gates - at - 1, False)
    return [run for run in runs if run[1]]


@dataclass(frozen=True)
class Sums:
    """The sums over all rows that are the gradients of one layer and direction."""

    backend: Backend
    run: Layer
    dgates: Matrix
    dw: int
    rows: int
    accumulate: bool

    def _planes(self, plane: int) -> Matrix:
        """dgates from a plane on."""
        config = self.run.config
        return Matrix(
            self.dgates.address + plane * config.hidden_size * config.itemsize, self.dgates.row
        )

    def _product(self, to: Matrix, a: Matrix, b: Matrix, rows: int, columns: int) -> None:
        """to = a' b."""
        transposed, shape = Matrix(a.address, 1, a.row), (rows, columns, self.rows)
        dtype = self.run.config.dtype
        self.backend.gemm(dtype, to, transposed, b, shape, accumulate=self.accumulate)

    def recurrent_matrices(self, before: Matrix, hidden: int) -> None:
        """dU = dgates' h, h being the state before each row, or the operand of a late gate."""
        config = self.run.config
        operand = Matrix(hidden, config.hidden_size)
        for first, gates, is_late in recurrent_runs(config, self.run.position):
            to = gate_rows(config, self.run.recurrent, self.dw, first)
            states, width = operand if is_late else before, gates * config.hidden_size
            self._product(to, self._planes(first), states, width, config.state_size)

    def input_matrices(self, x: Matrix) -> None:
        """dW = dgates' x."""
        config = self.run.config
        for gate, plane, gates in input_runs(config, self.run.position):
            to = gate_rows(config, self.run.input, self.dw, gate)
            width = gates * config.hidden_size
            self._product(to, self._planes(plane), x, width, self.run.input_size)

    def projection(self, dprojected: Matrix, hidden: int) -> None:
        """The gradient of the projection is dprojected' hidden."""
        config, block = self.run.config, self.run.projection
        assert block is not None
        to = gate_rows(config, block, self.dw, 0)
        of = Matrix(hidden, config.hidden_size)
        self._product(to, dprojected, of, config.projection_size, config.hidden_size)

    def biases(self) -> None:
        """The gradient of a bias is the sum of its gate's rows."""
        config = self.run.config
        for gate, plane, gates in input_runs(config, self.run.position):
            self._bias(self.run.input.bias_offset, gate, plane, gates)
        self._bias(self.run.recurrent.bias_offset, 0, 0, config.num_gates)

    def peepholes(self, block: Block) -> None:
        """The gradient of a peephole is the sum of its plane's rows."""
        record = self.run.config.record
        self._bias(block.bias_offset, 0, record.peephole_plane, len(record.peepholes))

    def _bias(self, offset: int | None, vector: int, plane: int, count: int) -> None:
        """The gradients of `count` vectors, the sums of the planes from `plane` on."""
        if offset is None:
            return
        config = self.run.config
        to = self.dw + (offset + vector * config.hidden_size) * config.itemsize
        columns = count * config.hidden_size
        self.backend.column_sums(
            config.dtype, to, self._planes(plane), self.rows, columns, accumulate=self.accumulate
        )
