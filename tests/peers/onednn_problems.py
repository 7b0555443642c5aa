"""Problems of oneDNN's RNN primitive, and what they give in float64.

Tensors have oneDNN's names and shapes; its letters are time, batch, slc (channels of src_layer),
sic (of src_iter), dhc (hidden units) and dic (channels of dst_iter).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import oracle
from oracle_network import Array, Key, Network, Parameters
from storage import rounded

Tensors = dict[str, Array]

LEFT2RIGHT, RIGHT2LEFT = "left2right", "right2left"
CONCAT, SUM = "bidirectional_concat", "bidirectional_sum"
DIRECTIONS = (LEFT2RIGHT, RIGHT2LEFT, CONCAT, SUM)
GATES = {"vanilla_rnn": "a", "lstm": "ifgo"}
GRU_GATES = "zrn"


@dataclass(frozen=True)
class Cell:
    """A row of the comparison.

    kind    as in dnnl_<kind>_forward_primitive_desc_create
    mode    the reference's name of it
    """

    kind: str
    mode: str
    activation: str = ""
    alpha: float = 0.0
    projection: bool = False

    @property
    def gates(self) -> str:
        return GATES.get(self.kind, GRU_GATES)

    @property
    def is_lstm(self) -> bool:
        return self.kind == "lstm"

    @property
    def is_gru(self) -> bool:
        return self.kind not in GATES

    @property
    def is_linear_before_reset(self) -> bool:
        return self.kind.startswith("lbr")

    @property
    def has_attention(self) -> bool:
        return self.kind.endswith("augru")


CELLS = {
    "tanh": Cell("vanilla_rnn", "tanh", "tanh"),
    "relu": Cell("vanilla_rnn", "relu", "relu"),
    "leaky relu": Cell("vanilla_rnn", "leaky_relu", "relu", 0.2),
    "logistic": Cell("vanilla_rnn", "logistic", "logistic"),
    "lstm": Cell("lstm", "lstm"),
    "lstm peephole": Cell("lstm", "peephole_lstm"),
    "lstm projection": Cell("lstm", "lstm", projection=True),
    "lstm peephole projection": Cell("lstm", "peephole_lstm", projection=True),
    "gru": Cell("gru", "reset_before_gru"),
    "lbr_gru": Cell("lbr_gru", "gru"),
    "augru": Cell("augru", "augru"),
    "lbr_augru": Cell("lbr_augru", "lbr_augru"),
}


@dataclass(frozen=True)
class Problem:
    """One primitive.

    src_iter    False: its descriptor, and that of src_iter_c, is NULL
    dst_iter    False: so are those of dst_iter
    data_tag    layout of src_layer and dst_layer
    overwrite   whether gradients of weights replace what is there
    """

    name: str
    direction: str
    time: int
    batch: int
    slc: int
    sic: int
    dhc: int
    dic: int
    layers: int = 1
    dtype: str = "float32"
    src_iter: bool = True
    dst_iter: bool = True
    data_tag: str = "tnc"
    overwrite: bool = False

    @property
    def cell(self) -> Cell:
        return CELLS[self.name]

    @property
    def directions(self) -> int:
        return 2 if self.direction in (CONCAT, SUM) else 1

    @cached_property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what the forward pass reads."""
        cell, stack, gates = self.cell, (self.layers, self.directions), len(self.cell.gates)
        shapes: dict[str, tuple[int, ...]] = {"src_layer": (self.time, self.batch, self.slc)}
        if self.src_iter:
            shapes["src_iter"] = (*stack, self.batch, self.sic)
        if self.src_iter and cell.is_lstm:
            shapes["src_iter_c"] = (*stack, self.batch, self.dhc)
        if cell.has_attention:
            shapes["attention"] = (self.time, self.batch, 1)
        shapes["weights_layer"] = (*stack, self.slc, gates, self.dhc)
        shapes["weights_iter"] = (*stack, self.sic, gates, self.dhc)
        if cell.mode == "peephole_lstm":
            shapes["weights_peephole"] = (*stack, 3, self.dhc)
        if cell.projection:
            shapes["weights_projection"] = (*stack, self.dhc, self.dic)
        shapes["bias"] = (*stack, gates + cell.is_linear_before_reset, self.dhc)
        return shapes

    @property
    def stacked_inputs(self) -> dict[str, tuple[int, ...]]:
        """Those of one layer and direction each."""
        sequences = ("src_layer", "attention")
        return {name: shape for name, shape in self.inputs.items() if name not in sequences}

    @cached_property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what the forward pass writes."""
        stack = (self.layers, self.directions, self.batch)
        width = self.dic * (2 if self.direction == CONCAT else 1)
        shapes: dict[str, tuple[int, ...]] = {"dst_layer": (self.time, self.batch, width)}
        if self.dst_iter:
            shapes["dst_iter"] = (*stack, self.dic)
        if self.dst_iter and self.cell.is_lstm:
            shapes["dst_iter_c"] = (*stack, self.dhc)
        return shapes

    def dtype_of(self, name: str) -> str:
        """Types as oneDNN wants them with bfloat16: what is added to sums in float32 keeps it."""
        single = name.startswith("diff_") or name in ("bias", "weights_peephole")
        return "float32" if single or name.endswith("iter_c") else self.dtype

    def tensors(self, seed: int = 0) -> Tensors:
        """Numbers for every input, for gradients of outputs, and for what gradients of weights
        are added to, all exactly as their types hold them."""
        rng = np.random.default_rng(seed)
        values = {name: rng.normal(size=shape) for name, shape in self.inputs.items()}
        for name in ("weights_layer", "weights_iter", "weights_projection"):
            if name in values:
                values[name] /= np.sqrt(values[name].shape[2])
        if self.cell.has_attention:
            values["attention"] = rng.uniform(size=values["attention"].shape)
        if self.cell.activation == "relu":
            # Far from the kink, where a rounding error would change a gradient by its whole.
            values["weights_layer"] *= 0.25
            values["weights_iter"] *= 0.25
            values["bias"] = 2 * np.sign(values["bias"])
        gradients = [name for name in self.inputs if name.startswith(("weights", "bias"))]
        for name, shape in [(name, self.inputs[name]) for name in gradients] + [
            *self.outputs.items()
        ]:
            values["diff_" + name] = rng.normal(size=shape)
        return {name: rounded(array, self.dtype_of(name)) for name, array in values.items()}


def reference(problem: Problem, tensors: Tensors) -> Tensors:
    """Every output and every gradient, of float64 networks with one layer and direction each."""
    stacks = [Stack(problem, tensors, d) for d in range(problem.directions)]
    layers = [stack.forward() for stack in stacks]
    results: Tensors = {
        "dst_layer": np.concatenate(layers, axis=2) if problem.direction == CONCAT else sum(layers)
    }
    results["diff_src_layer"] = sum(stack.backward() for stack in stacks)
    for name in stacks[0].results:
        results[name] = np.stack([stack.results[name] for stack in stacks], axis=1)
    if problem.cell.has_attention:
        results["diff_attention"] = sum(run.dattention for run in stacks[0].gradients)
    if not problem.overwrite:
        for name in results.keys() & tensors.keys():
            results[name] = results[name] + tensors[name]
    wanted = {*problem.outputs, *("diff_" + name for name in problem.inputs)}
    return {name: array for name, array in results.items() if name in wanted}


class Stack:
    """The layers of one direction, in float64.

    results     name -> array of L, ... : states, their gradients, gradients of weights
    gradients   of each layer, the last one first
    """

    def __init__(self, problem: Problem, tensors: Tensors, d: int) -> None:
        self.problem, self.d = problem, d
        self.tensors = {name: np.asarray(array, np.float64) for name, array in tensors.items()}
        self.reverse = problem.direction == RIGHT2LEFT or d == 1
        self.results: Tensors = {}
        self.gradients: list[oracle.Backward] = []

    @property
    def network(self) -> Network:
        """One layer. An initial state of another width, which only one step can have, is input."""
        problem, cell = self.problem, self.problem.cell
        return Network(
            cell.mode,
            problem.slc + (problem.sic if self.state_is_input else 0),
            problem.dhc,
            bias="both" if cell.is_linear_before_reset else "input",
            projection_size=problem.dic if cell.projection else 0,
            slope=cell.alpha,
        )

    @property
    def state_is_input(self) -> bool:
        return self.problem.sic != self.problem.dic

    def in_time(self, sequence: Array) -> Array:
        return sequence[::-1] if self.reverse else sequence

    def places(self, parameters: Parameters, layer: int) -> Iterator[tuple[Array, str, tuple]]:
        """Parts of the parameters, the tensors that hold them transposed, and where."""
        cell, slc = self.problem.cell, self.problem.slc
        weights, biases = parameters.weights, parameters.biases
        for number, gate in enumerate(cell.gates):
            at = (layer, self.d, slice(None), number)
            of_input, of_state = Key(0, 0, "input", gate), Key(0, 0, "recurrent", gate)
            yield weights[of_input][:, :slc], "weights_layer", at
            state = weights[of_input][:, slc:] if self.state_is_input else weights[of_state]
            yield state, "weights_iter", at
            yield biases[of_input], "bias", (layer, self.d, number)
        if cell.is_linear_before_reset:
            yield biases[Key(0, 0, "recurrent", "n")], "bias", (layer, self.d, 3)
        if cell.projection:
            projection = weights[Key(0, 0, "projection", "p")]
            yield projection, "weights_projection", (layer, self.d)
        if cell.mode == "peephole_lstm":
            for number, gate in enumerate("ifo"):
                peephole = biases[Key(0, 0, "peephole", gate)]
                yield peephole, "weights_peephole", (layer, self.d, number)

    def state(self, name: str, layer: int) -> Array | None:
        """(1, N, channels), None if it is not given."""
        array = self.tensors.get(name)
        return None if array is None else array[layer, self.d][None]

    def forward(self) -> Array:
        """dst_layer (T, N, DIC) of this direction."""
        problem, tensors, y = self.problem, self.tensors, self.in_time(self.tensors["src_layer"])
        lengths, self.runs = [problem.time] * problem.batch, []
        for layer in range(problem.layers):
            parameters = Parameters.zeros(self.network)
            for part, name, at in self.places(parameters, layer):
                part[...] = tensors[name][at].T
            hx, cx = self.state("src_iter", layer), self.state("src_iter_c", layer)
            if self.state_is_input:
                hx = np.zeros((1, problem.batch, problem.sic)) if hx is None else hx
                y, hx = np.concatenate([y, hx], axis=2), None
            run = oracle.forward(
                self.network, parameters, y, lengths, hx, cx, attention=tensors.get("attention")
            )
            self.runs.append(run)
            y = run.y
        self.results["dst_iter"] = np.concatenate([run.hy for run in self.runs])
        self.results["dst_iter_c"] = np.concatenate([run.cy for run in self.runs])
        return self.in_time(y)

    def backward(self) -> Array:
        """diff_src_layer (T, N, SLC) of this direction."""
        problem, slc = self.problem, self.problem.slc
        dy = self.tensors["diff_dst_layer"]
        if problem.direction == CONCAT:
            dy = np.split(dy, 2, axis=2)[self.d]
        dy = self.in_time(dy)
        for name, (layers, _, *shape) in problem.stacked_inputs.items():
            self.results["diff_" + name] = np.zeros((layers, *shape))
        for layer, run in reversed([*enumerate(self.runs)]):
            states = (self.state(f"diff_dst_{name}", layer) for name in ("iter", "iter_c"))
            gradients = oracle.backward(run, dy, *states)
            self.gradients.append(gradients)
            dy = gradients.dx[:, :, :slc]
            if problem.src_iter:
                dhx = gradients.dx[:, :, slc:] if self.state_is_input else gradients.dhx
                self.results["diff_src_iter"][layer] = dhx[0]
            if problem.src_iter and problem.cell.is_lstm:
                self.results["diff_src_iter_c"][layer] = gradients.dcx[0]
            for part, name, (_, _, *at) in self.places(gradients.parameters, layer):
                self.results["diff_" + name][(layer, *at)] = part.T
        return self.in_time(dy)
