"""A network on 8-bit codes with its buffers, exactly as large as they must be, between guards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import oracle_quantized as oracle
from guarded_run import Buffer

from miopy.core import quantized
from miopy.core.backend import Backend, Strided
from miopy.core.codes import CodeScale, Steps, Values, WeightScale
from miopy.core.config import INPUT, PROJECTION, RECURRENT
from miopy.core.quantized import Quantization, QuantizedRNN
from miopy.core.quantized_forward import Weights, forward

ROLES = {"input": INPUT, "recurrent": RECURRENT, "projection": PROJECTION}
ORACLE_CELL = {"lstm": "lstm", "reset_before_gru": "gru"}


@dataclass(frozen=True)
class Case:
    """A network, its data and what it is asked for.

    per_output        a scale for every output of a matrix; else one
    float_output      y, and `float_states` hx and hy, are numbers instead of codes
    null              of "hx", "cx", "hy", "cy": not given
    gaps              elements between the rows of x and y
    weight_axes       of (layer, direction, in, gate, out), slowest first: how float weights lie
    """

    rnn: QuantizedRNN
    data: CodeScale = field(default_factory=lambda: CodeScale(100.7, 64))
    steps: int = 3
    batch: int = 2
    per_output: bool = False
    float_output: bool = False
    float_states: bool = False
    null: tuple[str, ...] = ()
    gaps: tuple[int, int] = (0, 0)
    weight_axes: tuple[int, ...] = (0, 1, 2, 3, 4)
    seed: int = 0

    def shape_of(self, role: str) -> tuple[int, ...]:
        """Of matrices (L, D, in, G, out)."""
        packed = self.rnn.packed(ROLES[role])
        return (*packed.lengths[:2], packed.inputs, packed.gates, packed.outputs)


def strided(array: np.ndarray) -> Strided:
    return Strided(array.ctypes.data, tuple(step // array.itemsize for step in array.strides))


def address(array: np.ndarray | None) -> int | None:
    return None if array is None else array.ctypes.data


class QuantizedRun:
    """`run` gives y, hy and cy; `expected` what the reference makes of the same."""

    def __init__(self, case: Case, backend: Backend) -> None:
        self.case, self.backend = case, backend
        self.oracle_data = oracle.Data(case.data.scale, case.data.shift, case.data.signed)
        rnn, rng = case.rnn, np.random.default_rng(case.seed)
        limits = np.iinfo(self.oracle_data.dtype)

        def codes(*shape: int) -> np.ndarray:
            return rng.integers(limits.min, limits.max + 1, shape).astype(self.oracle_data.dtype)

        def numbers(*shape: int) -> np.ndarray:
            return rng.uniform(-0.4, 0.4, shape).astype(np.float32)

        def scales(*shape: int) -> np.ndarray:
            return rng.uniform(100, 400, shape if case.per_output else (1,)).astype(np.float32)

        blocks = (rnn.num_layers, rnn.num_directions, case.batch)
        self.x = codes(case.steps, case.batch, rnn.input_size)
        self.hx, self.cx = codes(*blocks, rnn.state_size), numbers(*blocks, rnn.hidden_size)
        self.matrices = {
            role: numbers(*case.shape_of(role))
            for role in ROLES
            if role != "projection" or rnn.projection_size
        }
        self.bias = numbers(*blocks[:2], rnn.num_gates, rnn.hidden_size)
        self.scales = {"weights": scales(rnn.num_gates * rnn.hidden_size)}
        if rnn.projection_size:
            self.scales["projection"] = scales(rnn.projection_size)

    @property
    def quantization(self) -> Quantization:
        own = {name: WeightScale(tuple(map(float, s))) for name, s in self.scales.items()}
        return Quantization(self.case.data, **own)

    def scale_of(self, role: str) -> WeightScale | None:
        quantization = self.quantization
        return quantization.projection if role == "projection" else quantization.weights

    def pack(self, role: str, numbers: np.ndarray, scale: WeightScale | None) -> Buffer:
        """Packed weights of a role, from numbers or, without a scale, codes (L, D, in, G, out)."""
        packed = self.case.rnn.packed(ROLES[role])
        buffer = Buffer((packed.nbytes,), "uint8")
        axes = self.case.weight_axes
        source = np.ascontiguousarray(numbers.transpose(axes)).transpose(np.argsort(axes))
        to = address(buffer.array)
        quantized.pack(packed, self.backend, to=to, source=strided(source), scale=scale)
        assert buffer.is_guarded
        return buffer

    def states(self, name: str) -> Buffer | None:
        """A buffer for a state, filled if it is an initial one."""
        if name in self.case.null:
            return None
        is_hidden = name[0] == "h"
        codes = "int8" if self.case.data.signed else "uint8"
        like = self.hx if is_hidden else self.cx
        kind = "float32" if self.case.float_states or not is_hidden else codes
        buffer = Buffer(like.shape, kind)
        if name[1] == "x":
            in_codes = not is_hidden or kind == codes
            buffer.array[...] = like if in_codes else self.oracle_data.numbers(like)
        return buffer

    def steps(self, features: int, gaps: int, is_float: bool) -> tuple[Buffer, Steps]:
        """A tensor (T, N, features) with gaps between its rows."""
        case = self.case
        kind = "float32" if is_float else ("int8" if case.data.signed else "uint8")
        row = features + gaps
        buffer = Buffer((case.steps, case.batch, row), kind)
        return buffer, Steps(address(buffer.array), case.batch * row, row, is_float)

    def run(self) -> dict[str, np.ndarray]:
        case, rnn = self.case, self.case.rnn
        weights = {
            role: self.pack(role, numbers, self.scale_of(role))
            for role, numbers in self.matrices.items()
        }
        states = {name: self.states(name) for name in ("hx", "cx", "hy", "cy")}
        x, x_steps = self.steps(rnn.input_size, case.gaps[0], False)
        x.array[..., : rnn.input_size] = self.x
        y, y_steps = self.steps(rnn.output_size, case.gaps[1], case.float_output)
        planned = quantized.plan(rnn, case.steps, case.batch)
        workspace = Buffer((planned.workspace.nbytes,), "uint8")
        addresses = {name: buffer and address(buffer.array) for name, buffer in states.items()}
        for name in ("hx", "hy"):
            if addresses[name] is not None:
                addresses[name] = Values(addresses[name], case.float_states)
        packed = {role: address(buffer.array) for role, buffer in weights.items()}
        forward(
            planned,
            self.backend,
            self.quantization,
            x=x_steps,
            y=y_steps,
            weights=Weights(bias=address(self.bias), **packed),
            workspace=address(workspace.array),
            **addresses,
        )
        used = [x, y, workspace, *weights.values(), *filter(None, states.values())]
        assert all(buffer.is_guarded for buffer in used)
        assert (
            y.bytes.reshape(-1, y.array.strides[1])[:, rnn.output_size * y.array.itemsize :] == 0xFF
        ).all(), "the gaps of y were written"
        results = {name: states[name].array for name in ("hy", "cy") if states[name]}
        return {"y": y.array[..., : rnn.output_size], **results}

    def expected(self) -> dict[str, np.ndarray]:
        case, rnn, data = self.case, self.case.rnn, self.oracle_data
        shape = (rnn.num_gates, rnn.hidden_size)
        scales = self.scales["weights"]
        weights: dict[str, Any] = {"bias": self.bias}
        weights["scales"] = np.broadcast_to(scales.reshape(shape if scales.size > 1 else 1), shape)
        for role in ("input", "recurrent"):
            weights[role] = oracle.weight_codes(self.matrices[role], weights["scales"])
        if rnn.projection_size:
            scales = np.broadcast_to(self.scales["projection"], (rnn.projection_size,))
            numbers = self.matrices["projection"][..., 0, :]
            weights["projection"] = oracle.weight_codes(numbers, scales)
            weights["projection_scales"] = scales
        h = np.full_like(self.hx, data.codes(0)) if "hx" in case.null else self.hx
        c = 0 * self.cx if "cx" in case.null else self.cx
        cell = ORACLE_CELL[rnn.cell]
        results = oracle.forward(cell, rnn.direction, data, self.x, h, c, weights)
        if case.float_output:
            results["y"] = data.numbers(results["y"], 2 if rnn.direction == "sum" else 1)
        if case.float_states:
            results["hy"] = data.numbers(results["hy"])
        return results
