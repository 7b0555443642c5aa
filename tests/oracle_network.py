"""What the float64 reference computes: networks, their parameters and flat weight buffers.

Every parameter is addressed by `Key(layer, direction, role, gate)`: role is "input", "recurrent" or
"projection", gate a letter of `GATES`, "p" of a projection. Weights are matrices (H, in), of a
projection (P, H), biases vectors (H,). Peepholes are kept among the biases, with a role of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

Array = np.ndarray

# The letters in a vendor's numbering of the gates.
ORDERS = {
    "miopen": {"relu": "a", "tanh": "a", "lstm": "ifog", "gru": "zrn"},
    "cudnn": {"relu": "a", "tanh": "a", "lstm": "ifgo", "gru": "rzn"},
}
GATES = ORDERS["miopen"]
# Cells that no vendor above has keep their own order, here and in the core.
CORE_GATES = {
    "logistic": "a",
    "leaky_relu": "a",
    "peephole_lstm": "ifgo",
    "reset_before_gru": "zrn",
    "augru": "zrn",
    "lbr_augru": "zrn",
    "general_vanilla": "a",
    "general_lstm": "ifgo",
    "general_gru": "zrn",
    "general_reset_before_gru": "zrn",
}
EVERY_GATES = GATES | CORE_GATES
ATTENTIVE = ("augru", "lbr_augru")
PEEPHOLES = {"peephole_lstm": "ifo", "general_lstm": "ifgo"}
# What a general cell activates, "h" being its output, and how if nothing else is said.
ACTIVATED = {
    "general_vanilla": {"a": "tanh"},
    "general_lstm": {"i": "sigmoid", "f": "sigmoid", "g": "tanh", "o": "sigmoid", "h": "tanh"},
    "general_gru": {"z": "sigmoid", "r": "sigmoid", "n": "tanh"},
    "general_reset_before_gru": {"z": "sigmoid", "r": "sigmoid", "n": "tanh"},
}
ROLES = ("input", "recurrent", "projection", "peephole")
BIASES = {"none": (), "input": ROLES[:1], "recurrent": ROLES[1:2], "both": ROLES[:2]}
# Both, but the recurrent one only of gates that do not just add it to the input one.
BIASES["merged"] = ROLES[:2]
SEPARATE = {"gru": "n", "lbr_augru": "n", "general_gru": "n"}


class Key(NamedTuple):
    layer: int
    direction: int
    role: str
    gate: str


@dataclass(frozen=True)
class Network:
    """What is computed: the shapes and switches of one stack of layers.

    bias               a key of BIASES
    projection_size    P, or 0 for no projection
    clip               (low, high) of c, or None
    slope              of leaky_relu below zero
    activations        of a general cell, in the order of ACTIVATED; None: as it says
    flips_update       of a general GRU: z and 1 - z change places
    given_products     x has, for each direction and gate, what the input part without its bias is
    idle_keeps_state   what a sequence of length zero does
    vendor             whose order the flat buffer has
    backwards          whether the only direction runs from the last step to the first
    sums               whether the outputs of both directions are added, else they are concatenated
    independent        whether a direction reads only the same one of the layer below
    recurrent_size     features of hx where there are not as many as of h: of sequences of one step
    """

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int = 1
    num_directions: int = 1
    bias: str = "both"
    skip_input: bool = False
    projection_size: int = 0
    clip: tuple[float, float] | None = None
    slope: float = 0.01
    activations: tuple[str, ...] | None = None
    flips_update: bool = False
    given_products: bool = False
    idle_keeps_state: bool = False
    vendor: str = "miopen"
    backwards: bool = False
    sums: bool = False
    independent: bool = False
    recurrent_size: int = 0

    @property
    def gates(self) -> str:
        return (ORDERS[self.vendor] | CORE_GATES)[self.mode]

    @property
    def state_size(self) -> int:
        return self.projection_size or self.hidden_size

    @property
    def initial_size(self) -> int:
        return self.recurrent_size or self.state_size

    @property
    def output_size(self) -> int:
        return self.state_size * (1 if self.sums else self.num_directions)

    def layer_input_size(self, layer: int) -> int:
        """Columns of the input matrices; 0 where skip input leaves none."""
        if layer:
            return self.state_size * (1 if self.independent else self.num_directions)
        return 0 if self.skip_input or self.given_products else self.input_size

    def keys(self) -> list[Key]:
        """Every (layer, direction, role, gate), in the vendor's order."""
        keys = [
            Key(layer, direction, role, gate)
            for layer in range(self.num_layers)
            for direction in range(self.num_directions)
            for role in ROLES
            for gate in self.letters(role)
        ]
        if self.vendor == "miopen":
            keys.sort(key=lambda key: (key.layer, ROLES.index(key.role)))
        return keys

    def letters(self, role: str) -> str:
        """The gates that have a parameter of a role."""
        if role == "projection":
            return "p" * bool(self.projection_size)
        return PEEPHOLES.get(self.mode, "") if role == "peephole" else self.gates

    def weight_shape(self, key: Key) -> tuple[int, int]:
        if key.role == "projection":
            return self.projection_size, self.hidden_size
        columns = self.layer_input_size(key.layer) if key.role == "input" else self.initial_size
        return self.hidden_size, columns

    def has_matrix(self, key: Key) -> bool:
        none = (self.skip_input or self.given_products) and key.layer == 0
        return key.role != "peephole" and not (none and key.role == "input")

    def features(self, key: Key) -> slice:
        """What an input part reads of its layer's input."""
        if key.role != "input" or key.layer or not self.given_products:
            return slice(None)
        first = key.direction * len(self.gates) + self.gates.index(key.gate)
        return slice(first * self.hidden_size, (first + 1) * self.hidden_size)

    def has_bias(self, key: Key) -> bool:
        if self.bias == "merged" and key.role == "recurrent":
            return key.gate in SEPARATE.get(self.mode, "")
        return key.role == "peephole" or key.role in BIASES[self.bias]


@dataclass
class Parameters:
    """Weights and biases of a network, or their gradients."""

    weights: dict[Key, Array] = field(default_factory=dict)
    biases: dict[Key, Array] = field(default_factory=dict)

    @classmethod
    def zeros(cls, network: Network) -> Parameters:
        keys = network.keys()
        return cls(
            {key: np.zeros(network.weight_shape(key)) for key in keys if network.has_matrix(key)},
            {key: np.zeros(network.hidden_size) for key in keys if network.has_bias(key)},
        )


# The flat weight buffer: all matrices, row-major, then all biases; offsets in elements.


def flat(parameters: Parameters) -> list[Array]:
    """All matrices and biases in the order of the buffer. The dictionaries have it already."""
    return [*parameters.weights.values(), *parameters.biases.values()]


def weight_offset(network: Network, key: Key) -> int:
    """Element at which a matrix starts."""
    weights = Parameters.zeros(network).weights
    return sum(weights[other].size for other in list(weights)[: list(weights).index(key)])


def bias_offset(network: Network, key: Key) -> int:
    """Element at which a bias vector starts."""
    parameters = Parameters.zeros(network)
    before = list(parameters.biases).index(key) * network.hidden_size
    return sum(matrix.size for matrix in parameters.weights.values()) + before


def buffer_size(network: Network) -> int:
    """Elements of the whole buffer."""
    return sum(part.size for part in flat(Parameters.zeros(network)))


def unpack(network: Network, buffer: Array) -> Parameters:
    """The parameters in a flat buffer, as float64 copies."""
    parameters, start = Parameters.zeros(network), 0
    for part in flat(parameters):
        part[...] = buffer[start : start + part.size].reshape(part.shape)
        start += part.size
    return parameters


def pack(network: Network, parameters: Parameters) -> Array:
    """The flat buffer (float64) of some parameters or gradients."""
    return np.concatenate([part.ravel() for part in flat(parameters)])
