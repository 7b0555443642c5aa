"""One call of an operation: the core's forward pass, or its backward passes on what the forward
call has given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...calls.functions import Function, Memory
from ...core.backend import Strided
from ...core.backward_data import backward_data
from ...core.backward_weights import backward_weights
from ...core.forward import Rows, forward
from .arrays import Array, Arrays, Operands
from .memory import CallMemory
from .model import Model, Parameters


class Call:
    """The operands of a call as the core takes them; `named` are those that only some operations
    have, by Apple's names, None if absent."""

    def __init__(
        self, memory: CallMemory, model: Model, operands: Operands, **named: Array | None
    ) -> None:
        self.memory, self.model, self.operands = memory, model, operands
        self.gates = tuple(model.choice.gates.split())
        self.given: dict[str, Array] = {
            name: array
            for name, array in {**operands._asdict(), **named}.items()
            if isinstance(array, Array) and name != "mask"
        }
        self.hx = memory.read_state(operands.initState)
        self.cx = memory.read_state(self.given.get("initCell"))
        self.mask = memory.read_mask(operands.mask)
        self._peephole = self._read_peephole()

    def _read_peephole(self) -> int | None:
        """Peepholes as the cell's kernels read them: in its own order, zeros if none are given."""
        names, memory = self.model.config.record.peepholes, self.memory
        if not names:
            return None
        sizes, given = self.model.sizes, self.given.get("peephole")
        gate, direction = sizes.hidden_size, len(names) * sizes.hidden_size
        copy = memory.scratch(sizes.num_directions * direction)
        if given is None:
            memory.zero(copy, sizes.num_directions * direction)
            return copy
        lengths, strides = (sizes.num_directions, gate), (direction, 1)
        for place, name in enumerate(names):
            source = memory.at(memory.address(given), self.gates.index(name) * gate)
            to = memory.at(copy, place * gate)
            memory.move(lengths, Strided(to, strides), Strided(source, strides))
        return copy

    def parameters(self) -> Parameters:
        """Where the weights are."""
        at = {name: self.memory.address(array) for name, array in self.given.items()}
        return self._placed(at, self._peephole, self.model.config.record.peepholes)

    def _placed(
        self, at: dict[str, int], peephole: int | None, peephole_gates: tuple[str, ...]
    ) -> Parameters:
        return Parameters(
            self.gates,
            at["recurrentWeight"],
            at.get("inputWeight"),
            at.get("bias"),
            at.get("secondaryBias"),
            peephole,
            peephole_gates,
        )

    def forward(self, y: int, reserve: int | None) -> None:
        """Write (T, N, D * H) to y, and the reserve unless it is None."""
        plan, memory = self.model.plan(training=reserve is not None), self.memory
        forward(
            plan,
            memory.device,
            self.model.sequence,
            weights=self.parameters(),
            x=Rows(self.memory.address(self.operands.source)),
            hx=self.hx,
            cx=self.cx,
            y=Rows(y),
            hy=None,
            cy=None,
            workspace=memory.scratch_bytes(plan.workspace.nbytes),
            reserve=reserve,
            recurrent_mask=self.mask,
        )

    def gradients(self, reserve: int, dy: Array, dhy: Array | None, dcy: Array | None) -> None:
        """Give new arrays by the names of what they are gradients of: all operands but the mask."""
        plan, memory, device = self.model.plan(training=True), self.memory, self.memory.device
        at: dict[str, int] = {}
        for name, array in self.given.items():
            is_state = name in ("initState", "initCell")
            at[name] = memory.new_state(array) if is_state else memory.new(name, array.shape)
        weights, x = self.parameters(), Rows(memory.address(self.operands.source))
        workspace = memory.scratch_bytes(plan.workspace.nbytes)
        backward_data(
            plan,
            device,
            self.model.sequence,
            weights=weights,
            dy=Rows(memory.address(dy)),
            dhy=memory.read_state(dhy),
            dcy=memory.read_state(dcy),
            hx=self.hx,
            cx=self.cx,
            dx=Rows(at["source"]),
            dhx=at.get("initState"),
            dcx=at.get("initCell"),
            workspace=workspace,
            reserve=reserve,
            recurrent_mask=self.mask,
        )
        backward_weights(
            plan,
            device,
            self.model.sequence,
            dw=self._placed(at, at.get("peephole"), self.gates),
            x=x,
            hx=self.hx,
            workspace=workspace,
            reserve=reserve,
        )
        if "secondaryBias" in at and not self.model.config.record.separate:
            memory.zero(at["secondaryBias"], self.model.sizes.output[2])
        memory.finish()


def function_of(
    arrays: Arrays,
    model: Model,
    operands: Operands,
    run: Callable[[Call], None],
    gradients: Sequence[str] = (),
    **named: Array | None,
) -> Function[list[Any]]:
    """What calls of an operation do: `run`, on the operands of each. They return the new arrays in
    the order in which they are made, or those of `gradients` in that order."""
    dtype, sizes = arrays.dtype, operands.sizes

    def walk(memory: Memory) -> None:
        run(Call(CallMemory(memory, dtype, sizes), model, operands, **named))

    def give(made: dict[str, Any]) -> list[Any]:
        return [made[name] for name in gradients or made if name in made]

    return Function(arrays.arguments, walk, rows=sizes.rows, give=give)
