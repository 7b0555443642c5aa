"""What passes from a forward call to its gradients, between Apple's arrays and the reserve that the
core's passes share.

The forward call gives its gates, after their activations (of a single gate before it), and LSTM its
cell states. Gradients read all else from these: h of LSTM is o * activation(c), h of a single gate
is activation(z), and what recurrent matrices have multiplied is h one step before, times the mask
and, for a reset gate before the product, times r. Of a reset gate after the product the recurrent
product itself is made once more, of all steps at once.
"""

from __future__ import annotations

from ...core import sequence as sequences
from ...core.backend import ForwardRun, Layer, Matrix, Strided
from ...core.config import RNNConfig
from .arrays import Array
from .call import Call


class Kept:
    """The reserve of a call: written by its forward pass, or filled from the caller's arrays.

    In shapes, R stands for T * N rows and V for the planes that the cell saves.
    """

    def __init__(self, call: Call) -> None:
        self._call, self._memory, self._sizes = call, call.memory, call.model.sizes
        self._record = call.model.config.record
        self._plan = call.model.plan(training=True)
        self.reserve = self._memory.scratch_bytes(self._plan.reserve.nbytes)

    def _at(self, name: str, *index: int) -> int:
        return self._plan.reserve.address(self.reserve, name, *index)

    def _plane(self, name: str) -> Strided:
        """A saved plane, (D, R, H)."""
        rows, hidden, planes = self._sizes.rows, self._sizes.hidden_size, len(self._record.saved)
        at = self._memory.at(self._at("saved"), self._record.saved.index(name) * hidden)
        return Strided(at, (rows * planes * hidden, planes * hidden, 1))

    def _gate(self, z: int, name: str) -> Strided:
        """A gate's block of z (T, N, D * gates * H), as (D, R, H)."""
        hidden, gates = self._sizes.hidden_size, self._call.gates
        at = self._memory.at(z, gates.index(name) * hidden)
        row = self._sizes.num_directions * len(gates) * hidden
        return Strided(at, (len(gates) * hidden, row, 1))

    @property
    def _lengths(self) -> tuple[int, int, int]:
        """(D, R, H)"""
        return self._sizes.num_directions, self._sizes.rows, self._sizes.hidden_size

    @property
    def _dense(self) -> tuple[int, int, int]:
        """Strides of the core's own arrays of (D, R, H)."""
        _, rows, hidden = self._lengths
        return rows * hidden, hidden, 1

    @property
    def _side_by_side(self) -> tuple[int, int, int]:
        """Strides of (D, R, H) in Apple's (T, N, D * H)."""
        directions, _, hidden = self._lengths
        return hidden, directions * hidden, 1

    def give_gates(self) -> None:
        """A new array, z."""
        address = self._memory.new("zState", self._sizes.pre_activations)
        for name in self._call.gates:
            self._memory.move(self._lengths, self._gate(address, name), self._plane(name))

    def take_gates(self, z: Array) -> None:
        """The inverse. A cell that does not save its gates does not need them either."""
        address = self._memory.address(z)
        for name in self._call.gates:
            if name in self._record.saved:
                self._memory.move(self._lengths, self._plane(name), self._gate(address, name))

    def give_cells(self) -> None:
        """A new array of cell states (T, N, D * H)."""
        address = self._memory.new("c", self._sizes.output)
        to, source = Strided(address, self._side_by_side), Strided(self._at("cells"), self._dense)
        self._memory.narrow(self._lengths, to, source)

    def take_cells(self, c: Array) -> None:
        """The inverse."""
        source = Strided(self._memory.address(c), self._side_by_side)
        to = Strided(self._at("cells"), self._dense)
        self._memory.widen(self._lengths, to, source)

    def take_outputs(self, h: Array) -> None:
        """The outputs of forward as they were given."""
        memory = self._memory
        nbytes = self._sizes.rows * self._sizes.output[2] * memory.itemsize
        memory.device.copy(self._at("outputs"), memory.address(h), nbytes)

    def outputs_of(self, values: Array, gates: Array | None = None) -> None:
        """outputs = o * activation(values), o being a block of `gates`, or 1."""
        outputs = Strided(self._at("outputs"), self._side_by_side)
        self._activate(outputs.address, self._memory.address(values))
        if gates is not None:
            factor = self._gate(self._memory.address(gates), "o")
            self._memory.multiply(self._lengths, outputs, outputs, factor)

    def _activate(self, to: int, values: int) -> None:
        """The activation of the output, of (R, D * H): a step of a vanilla cell is nothing else."""
        memory, width = self._memory, self._sizes.output[2]
        config = RNNConfig(
            "general_vanilla",
            width,
            width,
            bias="none",
            skip_input=True,
            dtype=memory.dtype,
            activations=self._call.model.choice.activations[-1:],
        )
        one_step = sequences.from_batch_sizes((self._sizes.rows,), self._sizes.rows)
        unread = Matrix(to, width)  # recurrent matrices; there is no state that they multiply
        run = ForwardRun(
            Layer(config, one_step, 0, 0, (0,), None, unread, (None,), (None,)),
            x=Matrix(values, width),
            hx=None,
            cx=None,
            output=Matrix(to, width),
            y=None,
            hy=None,
            cy=None,
            cells=None,
            saved=None,
        )
        memory.device.recurrence_forward([run])

    def take_products(self) -> None:
        """What depends on the outputs one step before."""
        config = self._call.model.config
        if not (config.recurrent_mask or self._record.late or self._record.separate):
            return
        before = self._before()
        if config.recurrent_mask:
            before = self._masked(before)
        if self._record.late:
            to, by = Strided(self._at("hidden"), self._dense), Strided(before, self._dense)
            self._memory.multiply(self._lengths, to, by, self._plane("r"))
        for name in self._record.separate:
            self._recurrent_product(name, before)

    def _before(self) -> int:
        """The state before each row, (D, R, H)."""
        memory, sizes = self._memory, self._sizes
        directions, rows, hidden = self._lengths
        state, goes_on = sizes.batch * hidden, (sizes.steps - 1) * sizes.batch
        before = memory.scratch(rows * directions * hidden)
        for direction in range(directions):
            is_reverse = direction == 1 or self._call.model.is_reverse
            here = memory.at(before, direction * rows * hidden)
            first = memory.at(here, goes_on * hidden if is_reverse else 0)
            if self._call.hx is None:
                memory.zero(first, state)
            else:
                hx = memory.at(self._call.hx, direction * state)
                memory.device.copy(first, hx, state * memory.itemsize)
            later = memory.at(here, 0 if is_reverse else state)
            source = direction * hidden + (sizes.output[2] * sizes.batch if is_reverse else 0)
            outputs = Strided(memory.at(self._at("outputs"), source), (sizes.output[2], 1))
            if goes_on:
                memory.move((goes_on, hidden), Strided(later, (hidden, 1)), outputs)
        return before

    def _masked(self, before: int) -> int:
        """Those times the mask, in the reserve."""
        directions, rows, hidden = self._lengths
        mask = self._call.mask
        assert mask is not None
        state = self._sizes.batch * hidden
        lengths, strides = (directions, self._sizes.steps, state), (rows * hidden, state, 1)
        to, by = Strided(self._at("masked"), strides), Strided(before, strides)
        self._memory.multiply(lengths, to, by, Strided(mask, (state, 0, 1)))
        return self._at("masked")

    def _recurrent_product(self, name: str, before: int) -> None:
        """U h + b of the gate whose saved product is named after it."""
        memory, (directions, rows, hidden) = self._memory, self._lengths
        plane, parameters = self._plane(f"{name}_h"), self._call.parameters()
        secondary = self._call.given.get("secondaryBias")
        gates = len(self._call.gates)
        for direction in range(directions):
            to = memory.at(plane.address, direction * plane.strides[0])
            if secondary is not None:
                bias = Strided(memory.at(memory.address(secondary), direction * hidden), (0, 1))
                memory.move((rows, hidden), Strided(to, plane.strides[1:]), bias)
            first = (direction * gates + self._call.gates.index(name)) * hidden
            memory.device.gemm(
                memory.dtype,
                Matrix(to, plane.strides[1]),
                Matrix(memory.at(before, direction * rows * hidden), hidden),
                Matrix(memory.at(parameters.recurrent, first * hidden), 1, hidden),
                (rows, hidden, hidden),
                accumulate=secondary is not None,
            )


def run_forward(call: Call, *, gives_gates: bool, gives_cells: bool = False) -> None:
    """Give h, then the cell states and z, as far as they are wanted."""
    y = call.memory.new("h", call.model.sizes.output)
    kept = Kept(call) if gives_gates or gives_cells else None
    call.forward(y, kept.reserve if kept else None)
    if kept and gives_cells:
        kept.give_cells()
    if kept and gives_gates:
        kept.give_gates()
