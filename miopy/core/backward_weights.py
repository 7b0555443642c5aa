"""Gradients of the parameters, from the dgates that backward data left in the workspace."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from .backend import Backend, Contraction, Layer, Matrix, Vectors
from .backward_data import Gradients, gate_rows
from .cells import input_plane, input_runs
from .config import RNNConfig
from .forward import Rows, columns, layer_input, layer_of, reserved, state_address
from .placement import Placement
from .plan import Plan
from .sequence import Sequence


def backward_weights(
    plan: Plan,
    backend: Backend,
    sequence: Sequence,
    *,
    dw: Placement,
    x: Rows,
    hx: int | None,
    workspace: int,
    reserve: int,
    accumulate: bool = False,
) -> None:
    """The gradients of all parameters, overwritten or added to.

    dw           where they go; gates are in the order of the weights
    x, hx        as forward got them; None means zeros
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
            run = layer_of(plan, dw, sequence, layer, direction)
            states = columns(config, outputs, direction)
            before = Matrix(
                states.address,
                states.row,
                index=sequence.previous_rows[run.reverse],
                other=state_address(run, hx, config.initial_size),
                other_row=config.initial_size,
            )
            if config.recurrent_mask:
                address = plan.reserve.address(reserve, "masked", layer, direction)
                before = Matrix(address, config.initial_size)
            sums = Sums(backend, run, left.dgates(layer, direction), plan.rows, accumulate)
            hidden = reserved(plan, reserve, "hidden", layer, direction) or 0
            sums.add_recurrent_matrices(before, hidden)
            sums.add_input_matrices(layer_input(run, source))
            sums.add_vectors()
            sums.write()
            if run.projection is not None:
                sums.write_projection(run.projection, left.output(layer, direction), hidden)
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
    """The sums over all rows that are the gradients of one layer and direction. They are collected
    by the planes of dgates that they are of, (first one, how many), which are then read once.

    run   its matrices and vectors are those of the gradients
    """

    backend: Backend
    run: Layer
    dgates: Matrix
    rows: int
    accumulate: bool
    products: dict[tuple[int, int], list[Contraction]] = field(default_factory=dict)
    vectors: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def add_recurrent_matrices(self, before: Matrix, hidden: int) -> None:
        """dU = dgates' h, h being the state before each row, or the operand of a late gate."""
        config = self.run.config
        operand = Matrix(hidden, config.hidden_size)
        for first, gates, is_late in recurrent_runs(config, self.run.position):
            to = gate_rows(config, self.run.recurrent, first)
            product = Contraction(to, operand if is_late else before, config.initial_size)
            self.products.setdefault((first, gates), []).append(product)

    def add_input_matrices(self, x: Matrix) -> None:
        """dW = dgates' x, if there are such matrices."""
        config = self.run.config
        if self.run.input is None:
            return
        for gate, plane, gates in input_runs(config.record, self.run.position):
            to = gate_rows(config, self.run.input, gate)
            product = Contraction(to, x, self.run.input_size)
            self.products.setdefault((plane, gates), []).append(product)

    def add_vectors(self) -> None:
        """The gradient of a bias or peephole is the sum of its plane's rows."""
        run = self.run
        vectors = run.input_biases, run.recurrent_biases, run.peepholes
        for plane, vector, count in vector_runs(run.config, run.position, *vectors):
            self.vectors.setdefault((plane, count), []).append(vector)

    def write(self) -> None:
        """All of them."""
        config = self.run.config
        for planes in dict.fromkeys([*self.products, *self.vectors]):
            start, width = (number * config.hidden_size for number in planes)
            a = Matrix(self.dgates.address + start * config.itemsize, self.dgates.row)
            products, vectors = self.products.get(planes, []), self.vectors.get(planes, [])
            self._contract(a, width, products, vectors)

    def write_projection(self, to: Matrix, dprojected: Matrix, hidden: int) -> None:
        """The gradient of the projection is dprojected' hidden."""
        config = self.run.config
        product = Contraction(to, Matrix(hidden, config.hidden_size), config.hidden_size)
        self._contract(dprojected, config.projection_size, [product], [])

    def _contract(
        self, a: Matrix, columns: int, products: list[Contraction], vectors: list[int]
    ) -> None:
        dtype, shape = self.run.config.dtype, (self.rows, columns)
        self.backend.contract(dtype, a, shape, products, vectors, accumulate=self.accumulate)


@lru_cache(maxsize=1024)
def vector_runs(
    config: RNNConfig,
    position: tuple[int, ...],
    input_biases: Vectors,
    recurrent_biases: Vectors,
    peepholes: Vectors,
) -> list[tuple[int, int, int]]:
    """Vectors that are adjacent, as their planes in dgates are: (plane, vector, how many)."""
    inputs = [input_plane(config.record, position, gate) for gate in range(config.num_gates)]
    nbytes = config.hidden_size * config.itemsize
    runs: list[tuple[int, int, int]] = []
    for planes, vectors in (
        (inputs, input_biases),
        (position, recurrent_biases),
        (range(config.record.peephole_plane, config.record.num_planes), peepholes),
    ):
        pairs = zip(planes, vectors, strict=False)
        for plane, vector in sorted((plane, to) for plane, to in pairs if to is not None):
            first, start, count = runs[-1] if runs else (-1, 0, 0)
            if (plane, vector) == (first + count, start + count * nbytes):
                runs[-1] = first, start, count + 1
            else:
                runs.append((plane, vector, 1))
    return runs
