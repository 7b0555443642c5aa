"""Runs MPSGraph's operations on random arrays and compares all they give with the reference."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import oracle
from cases import KINK_MARGIN
from oracle_network import Key, Network, Parameters
from storage import rounded
from tensorflow_run import array_of, numbers_of
from tolerance import assert_close

from miopy import mpsgraph

DESCRIPTORS = {
    "singleGateRNN": mpsgraph.MPSGraphSingleGateRNNDescriptor,
    "LSTM": mpsgraph.MPSGraphLSTMDescriptor,
    "GRU": mpsgraph.MPSGraphGRUDescriptor,
}
OPTIONAL = {
    "singleGateRNN": ("inputWeight", "bias", "initState", "mask"),
    "LSTM": ("inputWeight", "bias", "initState", "initCell", "mask", "peephole"),
    "GRU": ("inputWeight", "bias", "initState", "mask", "secondaryBias"),
}
# Properties in the order in which the reference has the activations.
ACTIVATIONS = {
    "singleGateRNN": ("activation",),
    "LSTM": (
        *("inputGateActivation", "forgetGateActivation", "cellGateActivation"),
        *("outputGateActivation", "activation"),
    ),
    "GRU": ("updateGateActivation", "resetGateActivation", "outputGateActivation"),
}
# What Apple documents, in its order.
GRADIENTS = {
    "singleGateRNN": ("source", "recurrentWeight", "inputWeight", "bias", "initState"),
    "LSTM": (
        *("source", "recurrentWeight", "inputWeight", "bias", "peephole"),
        *("initState", "initCell"),
    ),
    "GRU": ("source", "recurrentWeight", "inputWeight", "bias", "initState", "secondaryBias"),
}
CORE_NAMES = {"hardSigmoid": "hard_sigmoid"}


@dataclass(frozen=True)
class Problem:
    """One operation with its descriptor's properties.

    properties   those that are not the default, as pairs
    absent       optional arguments that are not given, those of the gradients included
    """

    operation: str = "LSTM"
    properties: tuple[tuple[str, Any], ...] = ()
    absent: frozenset[str] = field(default_factory=frozenset)
    dtype: str = "float64"
    steps: int = 4
    batch: int = 3
    input_size: int = 5
    hidden_size: int = 2
    seed: int = 0

    @property
    def descriptor(self) -> Any:
        """Apple's, for training."""
        descriptor = DESCRIPTORS[self.operation].descriptor()
        descriptor.training = True
        for name, value in self.properties:
            setattr(descriptor, name, value)
        return descriptor

    def has(self, argument: str) -> bool:
        return argument in OPTIONAL[self.operation] and argument not in self.absent

    @property
    def mode(self) -> str:
        """The reference's cell, always one with every setting."""
        if self.operation == "GRU":
            return "general_gru" if self.descriptor.resetAfter else "general_reset_before_gru"
        return {"singleGateRNN": "general_vanilla", "LSTM": "general_lstm"}[self.operation]

    @property
    def gates(self) -> str:
        """The reference's letters in Apple's order."""
        if self.operation == "singleGateRNN":
            return "a"
        if self.operation == "LSTM":
            return "igfo" if self.descriptor.forgetGateLast else "ifgo"
        return "rzn" if self.descriptor.resetGateFirst else "zrn"

    @property
    def directions(self) -> int:
        return 2 if self.descriptor.bidirectional else 1

    @property
    def network(self) -> Network:
        descriptor = self.descriptor
        names = [getattr(descriptor, name).name for name in ACTIVATIONS[self.operation]]
        gate_rows = self.directions * len(self.gates) * self.hidden_size
        return Network(
            self.mode,
            self.input_size if self.has("inputWeight") else gate_rows,
            self.hidden_size,
            num_directions=self.directions,
            bias="merged",
            activations=tuple(CORE_NAMES.get(name, name) for name in names),
            flips_update=self.operation == "GRU" and descriptor.flipZ,
            given_products=not self.has("inputWeight"),
            backwards=descriptor.reverse and not descriptor.bidirectional,
        )


def problem(operation: str, absent: tuple[str, ...] = (), **options: Any) -> Problem:
    """Properties of the descriptor and fields of Problem, by name."""
    fields = {name: options.pop(name) for name in list(options) if name in Problem.__annotations__}
    return Problem(operation, tuple(options.items()), frozenset(absent), **fields)


@dataclass
class Reference:
    """The inputs in the reference's form, and its results."""

    parameters: Parameters
    x: np.ndarray
    mask: np.ndarray
    states: dict[str, np.ndarray]
    run: oracle.Forward
    gradients: oracle.Backward


def draw(case: Problem, attempt: int) -> Reference:
    """Everything uniform in [-1, 1); what is absent is zero, or one of the mask."""
    rng, network = np.random.default_rng([case.seed, attempt]), case.network
    parameters = Parameters.zeros(network)

    def uniform(shape: tuple[int, ...]) -> np.ndarray:
        return rounded(rng.uniform(-1, 1, shape), case.dtype).astype(np.float64)

    for key, matrix in parameters.weights.items():
        parameters.weights[key] = uniform(matrix.shape)
    of_role = {"input": "bias", "recurrent": "secondaryBias", "peephole": "peephole"}
    for key, vector in parameters.biases.items():
        if case.has(of_role[key.role]):
            parameters.biases[key] = uniform(vector.shape)
    x = uniform((case.steps, case.batch, network.input_size))
    shape = (case.directions, case.batch, case.hidden_size)
    names = ("initState", "initCell", "stateGradient", "cellGradient")
    states = {name: np.zeros(shape) if name in case.absent else uniform(shape) for name in names}
    mask = uniform(shape) if case.has("mask") else np.ones(shape)
    lengths = [case.steps] * case.batch
    hx, cx = states["initState"], states["initCell"]
    run = oracle.forward(network, parameters, x, lengths, hx, cx, recurrent_mask=mask)
    states["sourceGradient"] = uniform(run.y.shape)
    last = states["stateGradient"], states["cellGradient"]
    gradients = oracle.backward(run, states["sourceGradient"], *last)
    return Reference(parameters, x, mask, states, run, gradients)


@functools.lru_cache(maxsize=64)
def reference_of(case: Problem) -> Reference:
    """With every pre-activation away from the kinks of its activation."""
    for attempt in range(500):
        found = draw(case, attempt)
        if found.run.kink_distance() > KINK_MARGIN[case.dtype]:
            return found
    raise AssertionError(f"no data keeps activations away from their kinks: {case}")


def flat_states(state: np.ndarray) -> np.ndarray:
    """(D, N, H) as (N, D * H)."""
    return np.ascontiguousarray(state.swapaxes(0, 1)).reshape(state.shape[1], -1)


def source_of(case: Problem, x: np.ndarray) -> np.ndarray:
    """The reference's x, or its gradient, as Apple has it: products are in the order of gates."""
    if case.has("inputWeight"):
        return x
    blocks = x.reshape(*x.shape[:2], case.directions, len(case.gates), case.hidden_size)
    order = [case.network.gates.index(gate) for gate in case.gates]
    return np.ascontiguousarray(blocks[:, :, :, order]).reshape(x.shape)


def blocks(case: Problem, parameters: dict[Key, np.ndarray], role: str, gates: str) -> np.ndarray:
    """All gates of both directions, (D, gates * H, ...)."""
    return np.stack(
        [
            np.concatenate([parameters[Key(0, direction, role, gate)] for gate in gates])
            for direction in range(case.directions)
        ]
    )


def weight_arrays(case: Problem, parameters: Parameters) -> dict[str, np.ndarray]:
    """Parameters, or their gradients, as Apple has them."""
    weights, biases = parameters.weights, parameters.biases
    matrices = blocks(case, weights, "recurrent", case.gates)
    found = {"recurrentWeight": matrices if case.directions == 2 else matrices[0]}
    if case.has("inputWeight"):
        found["inputWeight"] = np.concatenate(blocks(case, weights, "input", case.gates))
    if case.has("bias"):
        found["bias"] = blocks(case, biases, "input", case.gates).ravel()
    if case.has("peephole"):
        vectors = blocks(case, biases, "peephole", case.gates)
        found["peephole"] = vectors if case.directions == 2 else vectors[0]
    if case.has("secondaryBias"):
        found["secondaryBias"] = np.zeros(case.directions * case.hidden_size)
        if case.mode == "general_gru":
            found["secondaryBias"] = blocks(case, biases, "recurrent", "n").ravel()
    return found


def contents(array: Any) -> bytes:
    """The elements of an array, NumPy's or CuPy's."""
    return (array.get() if hasattr(array, "get") else np.asarray(array)).tobytes()


class MpsgraphRun:
    """A problem's arrays by Apple's names, and what its operations have given."""

    def __init__(self, case: Problem, place: Any = None) -> None:
        """`place` makes what is passed of an array, if not itself."""
        self.case, self.reference = case, reference_of(case)
        place = place or (lambda array: array)
        found = self.reference
        arrays = {"source": source_of(case, found.x)} | weight_arrays(case, found.parameters)
        for name in ("initState", "initCell"):
            if case.has(name):
                arrays[name] = flat_states(found.states[name])
        if case.has("mask"):
            arrays["mask"] = flat_states(found.mask)
        given = {"sourceGradient": found.states["sourceGradient"]}
        for name in ("stateGradient", "cellGradient")[: 2 if case.operation == "LSTM" else 1]:
            if name not in case.absent:
                given[name] = flat_states(found.states[name])
        self.inputs = {name: place(array_of(a, case.dtype)) for name, a in arrays.items()}
        self.given = {name: place(array_of(a, case.dtype)) for name, a in given.items()}

    def forward(self, **properties: Any) -> list[Any]:
        """What the operation gives; properties replace those of the problem."""
        descriptor = self.case.descriptor
        for name, value in properties.items():
            setattr(descriptor, name, value)
        return getattr(mpsgraph, self.case.operation)(**self.inputs, descriptor=descriptor)

    def gradients(self, results: list[Any]) -> dict[str, Any]:
        """What the operation of the gradients gives, by Apple's names and in its order."""
        if self.case.operation == "LSTM":
            kept = {"cellOutputFwd": results[1], "zState": results[2]}
        else:
            kept = {"zState": results[1]}
            if self.case.operation == "GRU":
                kept["outputFwd"] = results[0]
        operation = getattr(mpsgraph, f"{self.case.operation}Gradients")
        given = self.inputs | self.given | kept
        before = {name: contents(array) for name, array in given.items()}
        found = operation(**given, descriptor=self.case.descriptor)
        for name, array in given.items():
            assert contents(array) == before[name], f"{name} was changed"
        names = [name for name in GRADIENTS[self.case.operation] if name in self.inputs]
        return dict(zip(names, found, strict=True))

    def expected_gradients(self) -> dict[str, np.ndarray]:
        found = self.reference.gradients
        return {
            "source": source_of(self.case, found.dx),
            "initState": flat_states(found.dhx),
            "initCell": flat_states(found.dcx),
            **weight_arrays(self.case, found.parameters),
        }

    def expected_cells(self) -> np.ndarray:
        """(T, N, D * H)"""
        run, case = self.reference.run, self.case
        cells = np.zeros(run.y.shape)
        for (_, direction), steps in run.steps.items():
            for step in steps:
                units = slice(direction * case.hidden_size, (direction + 1) * case.hidden_size)
                cells[step.time, :, units] = step.saved["c"]
        return cells

    def assert_close(self, name: str, got: Any, expected: np.ndarray) -> None:
        case = self.case
        summands = case.steps * case.batch + (case.input_size + case.hidden_size) * 4
        numbers = numbers_of(np.asarray(got), case.dtype)
        assert_close(name, numbers, expected, case.dtype, summands)


def check(case: Problem, place: Any = None) -> MpsgraphRun:
    """Run both operations of a problem and compare all they give with the reference; what is
    remembered and prepared of the calls gives the same bits."""
    run = MpsgraphRun(case, place)
    results = run.forward()
    run.assert_close("h", results[0], run.reference.run.y)
    if case.operation == "LSTM":
        run.assert_close("c", results[1], run.expected_cells())
    expected, gradients = run.expected_gradients(), run.gradients(results)
    for name, gradient in gradients.items():
        run.assert_close(f"gradient of {name}", gradient, expected[name])
    for _ in range(2):
        run = MpsgraphRun(case, place)  # the same numbers elsewhere
        again = run.forward()
        assert list(map(contents, again)) == list(map(contents, results))
        for name, gradient in run.gradients(again).items():
            assert contents(gradient) == contents(gradients[name]), name
    return run
