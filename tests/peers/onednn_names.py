"""Numbers of oneDNN 3: its enumerations and arguments, and the order of its parameters."""

from __future__ import annotations

from onednn_problems import DIRECTIONS

FORWARD_TRAINING, FORWARD_INFERENCE, BACKWARD = 64, 96, 128
ACTIVATIONS = {"relu": 0x20, "tanh": 0x21, "logistic": 0x29}
DIRECTION_NUMBERS = {name: number for number, name in enumerate(DIRECTIONS, 1)}
DATA_TYPES = {"float16": 1, "bfloat16": 2, "float32": 3, "int8": 5, "uint8": 6}
IN_ORDER = 1  # of a stream, a flag
OVERWRITE = 1  # of gradients of weights, a flag
QUERY_ARGUMENT = 255

WORKSPACE = 64
REORDER_FROM, REORDER_TO = 1, 17
ARGUMENTS = {
    "src_layer": 1,
    "src_iter": 2,
    "src_iter_c": 3,
    "attention": 4,
    "dst_layer": 17,
    "dst_iter": 18,
    "dst_iter_c": 19,
    "weights_layer": 33,
    "weights_iter": 34,
    "weights_peephole": 35,
    "weights_projection": 36,
    "bias": 41,
}
ARGUMENTS |= {"diff_" + name: number + 128 for name, number in ARGUMENTS.items()}

# Format tags, and logical dimensions in the order of memory where that is another.
TAGS = {"any": 1, "nc": 3, "tnc": 4, "ntc": 16, "ldnc": 5, "ldgo": 5, "ldio": 5, "ldoi": 20}
TAGS |= {"ldigo": 6, "ldgoi": 31}
ORDERS = {"ntc": (1, 0, 2), "ldoi": (0, 1, 3, 2), "ldgoi": (0, 1, 3, 4, 2)}
PLAIN = {3: "tnc", 4: "ldnc", 5: "ldigo"}
BACKWARD_TAGS = {"weights_layer": "ldgoi", "weights_iter": "ldgoi", "weights_projection": "ldoi"}

# The tensors in the order of the parameters that their descriptors have.
PARAMETERS = {
    "vanilla_rnn": "src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter",
    "lstm": "src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole "
    "weights_projection bias dst_layer dst_iter dst_iter_c",
    "augru": "src_layer src_iter attention weights_layer weights_iter bias dst_layer dst_iter",
}
PARAMETERS |= {"gru": PARAMETERS["vanilla_rnn"], "lbr_gru": PARAMETERS["vanilla_rnn"]}
PARAMETERS |= {"lbr_augru": PARAMETERS["augru"]}


def parameters(kind: str, *, is_backward: bool) -> list[str]:
    """Backward has those of forward, then what is differentiated: inputs first."""
    names = PARAMETERS[kind].split()
    outputs = [name for name in names if name.startswith("dst")]
    inputs = [name for name in names if name not in outputs]
    return names + ["diff_" + name for name in inputs + outputs] * is_backward
