"""The formats: where each keeps parameters, what it cannot hold, what its attributes must say.

Every format computes what the core computes, or is refused. GRU is the variant that applies the
reset gate after the recurrent product: Keras's reset_after, ONNX's linear_before_reset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..core.config import (
    CONCAT,
    DTYPES,
    INPUT,
    LEFT_TO_RIGHT,
    PEEPHOLE,
    PROJECTION,
    RECURRENT,
    RNNConfig,
)
from ..errors import BadParam, NotSupported
from ..layouts import CUDNN, MIOPEN, MPSGRAPH_GATES
from .notation import Block, Flat, Named
from .parameters import BIAS, MATRIX, VECTOR

CELLS = ("relu", "tanh", "lstm", "gru")
ATTENTIVE = ("augru", "lbr_augru")
ONEDNN_CELLS = (*CELLS, "logistic", "peephole_lstm", "reset_before_gru", *ATTENTIVE)
DIRECTIONS = (LEFT_TO_RIGHT, CONCAT)
MERGING = ("gru", "lbr_augru")  # in which merged biases are not just those of the input
EITHER = (INPUT, RECURRENT)
DOUBLE_OR_NONE = ("both", "none")


class Attribute(NamedTuple):
    """What a format says beside its arrays, and changes what they compute.

    required   the only value whose function the core has
    default    what the format means if it is not said
    because    why another value is refused
    """

    required: Any
    default: Any
    because: str


@dataclass(frozen=True)
class Format:
    """One way to store the parameters of an RNN.

    cells        those that it has
    biases       names in `core.config.BIASES` that it has, the widest first
    cell_biases  the same for cells where it differs
    attributes   cell -> name -> Attribute
    extras       last word of the name of an array that is refused -> why
    hint         what to know when shapes do not fit
    joined       whether layers share arrays, so that all must read as much as h has
    """

    name: str
    title: str
    arrays: Flat | Named
    cells: tuple[str, ...] = CELLS
    biases: tuple[str, ...] = DOUBLE_OR_NONE
    cell_biases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skip_input: bool = False
    projection: bool = False
    clip: bool = False
    dtypes: tuple[str, ...] = tuple(DTYPES)
    attributes: Mapping[str, Mapping[str, Attribute]] = field(default_factory=dict)
    extras: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
    joined: bool = False

    def biases_of(self, cell: str) -> tuple[str, ...]:
        """Which bias vectors a gate may have here, the widest choice first."""
        return self.cell_biases.get(cell, self.biases)

    def check(self, config: RNNConfig) -> None:
        """Raise NotSupported, with the reason, if this format cannot hold such an RNN."""
        self.check_function(config)
        self._check_among("bias", config.bias, self.biases_of(config.cell))

    def check_function(self, config: RNNConfig) -> None:
        """The same for everything but the bias, which may be had in another form."""
        self._check_among("cell", config.cell, self.cells)
        self._check_among("dtype", config.dtype, self.dtypes)
        self._check_among("direction", config.direction, DIRECTIONS)
        if config.independent:
            rule = f"must be False, every layer of {self.title} reads both directions"
            raise NotSupported("independent", rule, True)
        if config.initial_size != config.state_size:
            rule = f"must be 0, {self.title} has initial states of the size of later ones"
            raise NotSupported("recurrent_size", rule, config.recurrent_size)
        if config.skip_input and not self.skip_input:
            rule = f"must be False, {self.title} multiplies x by a matrix in every layer"
            raise NotSupported("skip_input", rule, True)
        if config.projection_size and not self.projection:
            rule = f"must be 0, {self.title} has no projection"
            raise NotSupported("projection_size", rule, config.projection_size)
        if config.clip and not self.clip:
            rule = f"must be None, {self.title} does not clip the cell state"
            raise NotSupported("clip", rule, (config.clip.low, config.clip.high))
        if self.joined and config.num_layers > 1:
            self._check_layers(config)

    def _check_layers(self, config: RNNConfig) -> None:
        """The same for what only several layers may have."""
        instead = f"where {self.title} has several layers; take each layer as an RNN of its own"
        if config.num_directions > 1:
            rule = f"must be {LEFT_TO_RIGHT} {instead}, as its directions do not read each other"
            raise NotSupported("direction", rule, config.direction)
        if config.input_size != config.state_size:
            rule = f"must be {config.state_size}, the size of h, {instead}"
            raise NotSupported("input_size", rule, config.input_size)

    def _check_among(self, argument: str, value: str, allowed: tuple[str, ...]) -> None:
        if value not in allowed:
            choice = allowed[0] if len(allowed) == 1 else f"one of {', '.join(allowed)}"
            raise NotSupported(argument, f"must be {choice} for {self.title}", value)

    def check_names(self, names: Iterable[str]) -> None:
        """Raise NotSupported if an array stands for another function."""
        for name in names:
            because = self.extras.get(name.rpartition(".")[2])
            if because:
                raise NotSupported(name, f"must not be among the arrays: {because}")

    def requirements(self, config: RNNConfig) -> dict[str, Any]:
        """The attributes that must go with these arrays."""
        attributes = self.attributes.get(config.cell, {})
        return {name: attribute.required for name, attribute in attributes.items()}

    def check_attributes(self, config: RNNConfig, given: Mapping[str, Any]) -> None:
        """Raise NotSupported if attributes, or their defaults, ask for another function."""
        if not isinstance(given, Mapping):
            raise BadParam("attributes", "must map names to values", given)
        known = self.attributes.get(config.cell, {})
        for name in given:
            if name not in known:
                rule = f"must be an attribute of {self.title} {config.cell} that matters here: "
                raise NotSupported("attributes", rule + (", ".join(known) or "none does"), name)
        for name, attribute in known.items():
            value = given.get(name, attribute.default)
            value = value.tolist() if isinstance(value, np.ndarray) else value
            if value not in (attribute.required, _per_direction(attribute.required, config)):
                silent = "" if name in given else f", not {value!r}, as where nothing is said"
                rule = f"must be {attribute.required!r}{silent}: {attribute.because}"
                raise NotSupported(name, rule, value)


def _per_direction(value: Any, config: RNNConfig) -> Any:
    """ONNX repeats its lists of activations for the second direction."""
    return value * config.num_directions if isinstance(value, list) else value


FLAT_CUDNN = Flat(CUDNN)

CANONICAL = Named(
    (
        Block("layer{layer}.{direction}.{role}.{gate}.matrix", MATRIX, EITHER, "out in"),
        Block("layer{layer}.{direction}.{role}.matrix", MATRIX, (PROJECTION,), "out in"),
        Block("layer{layer}.{direction}.{role}.{gate}.bias", BIAS, EITHER, "out"),
        Block("layer{layer}.{direction}.{role}.{gate}.vector", VECTOR, (PEEPHOLE,), "out"),
    )
)
TENSORFLOW_LISTS = Named(
    (
        Block("weights.{number}", MATRIX, (*EITHER, PROJECTION), "out in"),
        Block("biases.{number}", BIAS, EITHER, "out"),
    ),
    gates=CUDNN.gates,
)
TORCH = Named(
    (
        Block("weight_ih_l{layer}{direction}", MATRIX, (INPUT,), "(gate out) in"),
        Block("weight_hh_l{layer}{direction}", MATRIX, (RECURRENT,), "(gate out) in"),
        Block("bias_ih_l{layer}{direction}", BIAS, (INPUT,), "(gate out)"),
        Block("bias_hh_l{layer}{direction}", BIAS, (RECURRENT,), "(gate out)"),
        Block("weight_hr_l{layer}{direction}", MATRIX, (PROJECTION,), "out in"),
    ),
    gates=CUDNN.gates,
    directions=("", "_reverse"),
)
# One array for each of the layer's variables, in the order of Keras's get_weights.
KERAS = Named(
    (
        Block("layer{layer}.{direction}.kernel", MATRIX, (INPUT,), "in (gate out)"),
        Block("layer{layer}.{direction}.recurrent_kernel", MATRIX, (RECURRENT,), "in (gate out)"),
        Block(
            "layer{layer}.{direction}.bias",
            *(BIAS, (RECURRENT,), "(gate out)", ("relu", "tanh", "lstm")),
        ),
        Block("layer{layer}.{direction}.bias", BIAS, EITHER, "role (gate out)", ("gru",)),
    ),
    gates={"lstm": "i f g o", "gru": "z r n"},
    directions=("forward", "backward"),
)
# The inputs W, R and B of one node per layer.
ONNX = Named(
    (
        Block("layer{layer}.W", MATRIX, (INPUT,), "direction (gate out) in"),
        Block("layer{layer}.R", MATRIX, (RECURRENT,), "direction (gate out) in"),
        Block("layer{layer}.B", BIAS, EITHER, "direction (role gate out)"),
    ),
    gates={"lstm": "i o f g", "gru": "z r n"},
)


def _onednn(matrix: str, projection: str) -> Named:
    """The tensors of one primitive, whose matrices have these axes."""
    return Named(
        (
            Block("weights_layer", MATRIX, (INPUT,), f"layer direction {matrix}"),
            Block("weights_iter", MATRIX, (RECURRENT,), f"layer direction {matrix}"),
            Block("weights_peephole", VECTOR, (PEEPHOLE,), "layer direction gate out"),
            Block("weights_projection", MATRIX, (PROJECTION,), f"layer direction {projection}"),
            Block("bias", BIAS, EITHER, "layer direction bias out"),
        )
    )


# What the forward pass takes, and what the backward pass does.
ONEDNN = {
    "onednn": ("oneDNN", _onednn("in gate out", "in out")),
    "onednn_ldgoi": ("oneDNN's ldgoi", _onednn("gate out in", "out in")),
}

# The arguments of an operation per layer. GRU has one recurrent bias, that of the new memory.
MPSGRAPH = Named(
    (
        Block("layer{layer}.recurrentWeight", MATRIX, (RECURRENT,), "direction? (gate out) in"),
        Block("layer{layer}.inputWeight", MATRIX, (INPUT,), "(direction gate out) in"),
        Block("layer{layer}.bias", BIAS, (INPUT,), "(direction gate out)"),
        Block("layer{layer}.secondaryBias", BIAS, (RECURRENT,), "(direction out)"),
    ),
    gates=MPSGRAPH_GATES,
)

OTHER_ACTIVATION = "no other format here has another activation"
RESET_FIRST = "a reset gate that acts before the recurrent product is another function"


def _keras_attributes() -> dict[str, dict[str, Attribute]]:
    sigmoid = Attribute("sigmoid", "sigmoid", OTHER_ACTIVATION)
    gates = {
        "activation": Attribute("tanh", "tanh", OTHER_ACTIVATION),
        "recurrent_activation": sigmoid,
    }
    simple = {cell: Attribute(cell, cell, OTHER_ACTIVATION) for cell in ("relu", "tanh")}
    return {
        **{cell: {"activation": attribute} for cell, attribute in simple.items()},
        "lstm": gates,
        "gru": gates | {"reset_after": Attribute(True, True, RESET_FIRST)},
    }


def _onnx_attributes() -> dict[str, dict[str, Attribute]]:
    def of_cell(*activations: str, **others: Attribute) -> dict[str, Attribute]:
        names = list(activations)
        clip = Attribute(None, None, "it bounds the activations' operands, not the cell state")
        return {"activations": Attribute(names, names, OTHER_ACTIVATION), "clip": clip} | others

    tied = Attribute(0, 0, "a forget gate tied to the input gate is another function")
    return {
        "relu": of_cell("Relu"),
        "tanh": of_cell("Tanh"),
        "lstm": of_cell("Sigmoid", "Tanh", "Tanh", input_forget=tied),
        "gru": of_cell("Sigmoid", "Tanh", linear_before_reset=Attribute(1, 0, RESET_FIRST)),
    }


def _mpsgraph_attributes() -> dict[str, dict[str, Attribute]]:
    """Properties of descriptors; those of activations are for the cells that have one."""
    order = "gates in another order are not told apart by the shapes of arrays"
    flipped = "an update gate that lets in what it should keep is another function"
    return {
        **{cell: {"activation": Attribute(cell, "relu", OTHER_ACTIVATION)} for cell in CELLS[:2]},
        "lstm": {
            "activation": Attribute("tanh", "tanh", OTHER_ACTIVATION),
            "forgetGateLast": Attribute(False, False, order),
        },
        "gru": {
            "resetAfter": Attribute(True, False, RESET_FIRST),
            "resetGateFirst": Attribute(False, False, order),
            "flipZ": Attribute(False, False, flipped),
        },
    }


FORMATS = {
    each.name: each
    for each in (
        Format(
            "canonical",
            "the list of named parameters",
            CANONICAL,
            cells=ONEDNN_CELLS,
            biases=("both", "input", "recurrent", "none"),
            cell_biases=dict.fromkeys(MERGING, ("both", "merged", "input", "recurrent", "none")),
            skip_input=True,
            projection=True,
            clip=True,
        ),
        Format("miopen", "MIOpen", Flat(MIOPEN), skip_input=True, dtypes=("float32", "float16")),
        Format(
            "cudnn",
            "cuDNN",
            FLAT_CUDNN,
            biases=("both", "input", "recurrent", "none"),
            skip_input=True,
            projection=True,
            clip=True,
        ),
        Format(
            "tensorflow",
            "TensorFlow's params",
            FLAT_CUDNN,
            biases=("both",),
            skip_input=True,
            projection=True,
        ),
        # What the lists hold for the layer that skip input leaves without matrices is not known.
        Format(
            "tensorflow_lists",
            "TensorFlow's canonical lists",
            TENSORFLOW_LISTS,
            biases=("both",),
            projection=True,
        ),
        Format("torch", "torch", TORCH, projection=True),
        Format(
            "keras",
            "Keras",
            KERAS,
            biases=("recurrent", "none"),
            cell_biases={"gru": DOUBLE_OR_NONE},
            attributes=_keras_attributes(),
            hint="; GRU's bias has two rows, its reset_after=False is another function",
        ),
        Format(
            "onnx",
            "ONNX",
            ONNX,
            attributes=_onnx_attributes(),
            extras={"P": "peepholes let the gates see the cell state, which is another function"},
        ),
        Format(
            "mpsgraph",
            "MPSGraph",
            MPSGRAPH,
            biases=("input", "none"),
            cell_biases={"gru": ("merged", "none")},
            attributes=_mpsgraph_attributes(),
            extras={
                "peephole": "peepholes let the gates see the cell state, which is another function",
                "mask": "it changes what the network computes, and is no parameter",
            },
        ),
        Format(
            "jax",
            "JAX",
            FLAT_CUDNN,
            cells=("lstm",),
            biases=("both",),
            dtypes=("float32",),
        ),
        *(
            Format(
                name,
                title,
                arrays,
                cells=ONEDNN_CELLS,
                biases=("input",),
                cell_biases=dict.fromkeys(MERGING, ("merged",)),
                projection=True,
                dtypes=("float32", "float16", "bfloat16"),
                joined=True,
            )
            for name, (title, arrays) in ONEDNN.items()
        ),
    )
}


def format_named(name: str, argument: str = "format") -> Format:
    """The record of a format. Raises BadParam, which names the argument."""
    if not isinstance(name, str) or name not in FORMATS:
        raise BadParam(argument, f"must be one of {', '.join(FORMATS)}", name)
    return FORMATS[name]
