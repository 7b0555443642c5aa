"""Runs RNN primitives of the oneDNN dialect on guarded memory, and says what the reference gives.

Arrays have oneDNN's logical dimensions, whatever the layout in memory; T steps, N sequences:

    src_layer (T, N, SLC)   weights_layer (L, D, SLC, G, DHC)   weights_projection (L, D, DHC, DIC)
    src_iter (L, D, N, SIC)   weights_iter (L, D, SIC, G, DHC)   weights_peephole (L, D, 3, DHC)
    src_iter_c (L, D, N, DHC)   bias (L, D, G or 4, DHC)   attention (T, N, 1)
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import oracle
from oracle_network import Key, Network, Parameters
from storage import rounded

from miopy import onednn as dn

# The reference's name of each cell, its gates in oneDNN's order, and what else it takes.
MODES = {
    "relu": "relu",
    "leaky_relu": "leaky_relu",
    "tanh": "tanh",
    "logistic": "logistic",
    "lstm": "lstm",
    "gru": "reset_before_gru",
    "lbr_gru": "gru",
    "augru": "augru",
    "lbr_augru": "lbr_augru",
}
GATES = {"lstm": "ifgo"} | dict.fromkeys(("gru", "lbr_gru", "augru", "lbr_augru"), "zrn")
VANILLA = ("relu", "leaky_relu", "tanh", "logistic")
ACTIVATIONS = {
    "relu": dn.dnnl_eltwise_relu,
    "leaky_relu": dn.dnnl_eltwise_relu,
    "tanh": dn.dnnl_eltwise_tanh,
    "logistic": dn.dnnl_eltwise_logistic,
}
DIRECTIONS = {
    "left2right": dn.dnnl_unidirectional_left2right,
    "right2left": dn.dnnl_unidirectional_right2left,
    "concat": dn.dnnl_bidirectional_concat,
    "sum": dn.dnnl_bidirectional_sum,
}
DTYPES = {"float32": dn.dnnl_f32, "bfloat16": dn.dnnl_bf16, "float16": dn.dnnl_f16}
TAGS = {
    "any": dn.dnnl_format_tag_any,
    "tnc": dn.dnnl_tnc,
    "ntc": dn.dnnl_ntc,
    "ldigo": dn.dnnl_ldigo,
    "ldgoi": dn.dnnl_ldgoi,
    "ldio": dn.dnnl_ldio,
    "ldoi": dn.dnnl_ldoi,
}
PLAIN = {3: dn.dnnl_abc, 4: dn.dnnl_abcd, 5: dn.dnnl_abcde}
SLOPE = 0.25
STATES = ("src_iter", "src_iter_c", "dst_iter", "dst_iter_c")
PARAMETERS = ("weights_layer", "weights_iter", "weights_peephole", "weights_projection", "bias")


@dataclass(frozen=True)
class OnednnCase:
    """A primitive; `finer` has c, bias and peepholes of f32 where the rest is not."""

    cell: str = "lstm"
    direction: str = "left2right"
    steps: int = 4
    batch: int = 3
    slc: int = 5
    dhc: int = 6
    layers: int = 1
    projection: int = 0
    sic: int = 0
    peephole: bool = False
    absent: tuple[str, ...] = ()
    dtype: str = "float32"
    finer: bool = False
    overwrites: bool = False
    layouts: Mapping[str, str] = field(default_factory=dict)
    slope: float = SLOPE
    seed: int = 0

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def has_c(self) -> bool:
        return self.cell == "lstm"

    @property
    def function(self) -> str:
        return "vanilla_rnn" if self.cell in VANILLA else self.cell

    @property
    def network(self) -> Network:
        bias = "merged" if self.cell.startswith("lbr") else "input"
        return Network(
            "peephole_lstm" if self.peephole else MODES[self.cell],
            self.slc,
            self.dhc,
            self.layers,
            2 if self.direction in ("concat", "sum") else 1,
            bias="none" if "bias" in self.absent else bias,
            projection_size=self.projection,
            slope=self.slope,
            backwards=self.direction == "right2left",
            sums=self.direction == "sum",
            independent=True,
            recurrent_size=self.sic,
        )

    @property
    def gates(self) -> str:
        return GATES.get(self.cell, "a")

    def dims(self) -> dict[str, tuple[int, ...]]:
        """Of all tensors that the primitive has, diff tensors aside."""
        network = self.network
        stack = self.layers, network.num_directions
        gates, state = len(self.gates), network.state_size
        dims = {
            "src_layer": (self.steps, self.batch, self.slc),
            "src_iter": (*stack, self.batch, network.initial_size),
            "src_iter_c": (*stack, self.batch, self.dhc),
            "attention": (self.steps, self.batch, 1),
            "weights_layer": (*stack, self.slc, gates, self.dhc),
            "weights_iter": (*stack, network.initial_size, gates, self.dhc),
            "weights_peephole": (*stack, 3, self.dhc),
            "weights_projection": (*stack, self.dhc, self.projection),
            "bias": (*stack, gates + self.cell.startswith("lbr"), self.dhc),
            "dst_layer": (self.steps, self.batch, network.output_size),
            "dst_iter": (*stack, self.batch, state),
            "dst_iter_c": (*stack, self.batch, self.dhc),
        }
        missing = set(self.absent)
        for name, has in (
            ("src_iter_c", self.has_c and "src_iter" not in missing),
            ("dst_iter_c", self.has_c and "dst_iter" not in missing),
            ("attention", "augru" in self.cell),
            ("weights_peephole", self.peephole),
            ("weights_projection", bool(self.projection)),
        ):
            missing |= set() if has else {name}
        return {name: each for name, each in dims.items() if name not in missing}

    def dtype_of(self, name: str) -> str:
        """The storage type of a tensor."""
        if name.startswith("diff_") or name == "weights_peephole":
            return "float32"
        is_finer = name in ("bias", "src_iter_c", "dst_iter_c")
        return "float32" if self.finer and is_finer else self.dtype


class Example:
    """Inputs of a case, random if not given, and what the reference makes of them: float64 arrays
    by name."""

    def __init__(self, case: OnednnCase, inputs: Mapping[str, np.ndarray] | None = None) -> None:
        self.case = case
        given = inputs or self._random()
        self.inputs = {name: array.astype(np.float64) for name, array in given.items()}
        self.forward = oracle.forward(
            case.network,
            self._parameters(),
            self.inputs["src_layer"],
            [case.steps] * case.batch,
            self._state("src_iter"),
            self._state("src_iter_c"),
            attention=self.inputs.get("attention"),
        )

    def _random(self) -> dict[str, np.ndarray]:
        case, inputs = self.case, {}
        rng = np.random.default_rng(case.seed)
        for name, dims in case.dims().items():
            if not name.startswith("dst"):
                values = rng.uniform(-1, 1, dims) * (0.7 if name in PARAMETERS else 1)
                values = np.abs(values) if name == "attention" else values
                inputs[name] = rounded(values, case.dtype_of(name))
        for name, dims in case.dims().items():
            prefixed = f"diff_{name}"
            if name.startswith("dst") or name in PARAMETERS:
                values = rng.uniform(-1, 1, dims)
                inputs[prefixed] = values.astype(np.float32)
        return inputs

    def _state(self, name: str) -> np.ndarray | None:
        array = self.inputs.get(name)
        if array is None:
            return None
        layers, directions, *rest = array.shape
        return array.reshape(layers * directions, *rest)

    def _parameters(self) -> Parameters:
        parameters = Parameters.zeros(self.case.network)
        for key, array in parameters.weights.items():
            name = {"input": "weights_layer", "recurrent": "weights_iter"}.get(key.role)
            tensor = self.inputs[name or "weights_projection"][key.layer, key.direction]
            array[...] = (tensor[:, self.case.gates.index(key.gate)] if name else tensor).T
        for key, array in parameters.biases.items():
            array[...] = self.inputs[self._vector_name(key)][self._vector(key)]
        return parameters

    def _vector_name(self, key: Key) -> str:
        return "weights_peephole" if key.role == "peephole" else "bias"

    def _vector(self, key: Key) -> tuple[int, int, int]:
        """Where a bias or a peephole is: the recurrent bias of a separate gate comes last."""
        gates = "ifo" if key.role == "peephole" else self.case.gates
        number = 3 if key.role == "recurrent" else gates.index(key.gate)
        return key.layer, key.direction, number

    @functools.cached_property
    def outputs(self) -> dict[str, np.ndarray]:
        """Of forward."""
        dims = self.case.dims()
        run = {"dst_layer": self.forward.y, "dst_iter": self.forward.hy}
        run["dst_iter_c"] = self.forward.cy
        return {name: run[name].reshape(dims[name]) for name in run if name in dims}

    @functools.cached_property
    def gradients(self) -> dict[str, np.ndarray]:
        """Of backward; those of parameters are added to the inputs unless they overwrite."""
        case, dims = self.case, self.case.dims()
        back = oracle.backward(
            self.forward,
            self.inputs["diff_dst_layer"],
            self._state("diff_dst_iter"),
            self._state("diff_dst_iter_c"),
        )
        found = {"diff_src_layer": back.dx, "diff_src_iter": back.dhx, "diff_src_iter_c": back.dcx}
        if back.dattention is not None:
            found["diff_attention"] = back.dattention
        gradients = {
            name: array.reshape(dims[name.removeprefix("diff_")])
            for name, array in found.items()
            if name.removeprefix("diff_") in dims
        }
        for name in PARAMETERS:
            if name in dims:
                before = np.zeros(dims[name]) if case.overwrites else self.inputs[f"diff_{name}"]
                gradients[f"diff_{name}"] = before.copy()
        for key, array in back.parameters.weights.items():
            name = {"input": "weights_layer", "recurrent": "weights_iter"}.get(key.role)
            to = gradients[f"diff_{name or 'weights_projection'}"][key.layer, key.direction]
            if name:
                to[:, case.gates.index(key.gate)] += array.T
            else:
                to += array.T
        for key, array in back.parameters.biases.items():
            gradients[f"diff_{self._vector_name(key)}"][self._vector(key)] += array
        return gradients


@functools.lru_cache(maxsize=256)
def example(case: OnednnCase) -> Example:
    return Example(case)


def gapped_strides(dims: tuple[int, ...]) -> list[int]:
    """Row-major, every dimension but the last and the gates' with room behind it."""
    strides, step = [1] * len(dims), dims[-1]
    for axis in reversed(range(len(dims) - 1)):
        step += 0 if len(dims) == 5 and axis == 3 else 2
        strides[axis], step = step, step * dims[axis]
    if len(dims) == 5:
        strides[3] = dims[4]
    return strides


def described(name: str, dims: tuple[int, ...], dtype: str, layout: str | None) -> Any:
    data_type = DTYPES[dtype]
    if layout == "gaps":
        return dn.dnnl_memory_desc_create_with_strides(
            len(dims), dims, data_type, gapped_strides(dims)
        )
    tag = PLAIN[len(dims)] if layout is None else TAGS[layout]
    return dn.dnnl_memory_desc_create_with_tag(len(dims), dims, data_type, tag)
