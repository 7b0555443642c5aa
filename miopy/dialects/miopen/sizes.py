"""MIOpen's size formulas, as pure functions of integers.

Every result is in bytes, unless a name says otherwise, and exact for shapes of any magnitude.
`rows` is the sum of the active batch over all steps; the queries that know only a worst case pass
batch * steps. Sources: rnn.cpp and rnn_util.cpp of MIOpen 3.3.
"""

from __future__ import annotations

from ...core._reader import environment
from ...core.config import RNNConfig

# Gate-sized buffers per cell that MIOpen books: pre-activations, cell states, products kept apart.
BUFFERS = {"relu": 1, "tanh": 1, "lstm": 6, "gru": 4}

_DISABLED = {b"0", b"no", b"off", b"false", b"disable", b"disabled"}


def settings() -> tuple[bytes | None, bytes | None]:
    """What the environment says now of the method and of the generic kernels, if anything. MIOpen
    asks in every call: what a client in C sets, os.environ never sees."""
    method, generic = environment(b"MIOPEN_RNNWRW_REDUCTION", b"MIOPEN_DEBUG_DYNAMIC_REDUCTION")
    return method, generic


def reduction(config: RNNConfig, rows: int) -> int:
    """Scratch of MIOpen's bias gradient, a sum over rows. Booked without bias and in inference too.

    MIOPEN_RNNWRW_REDUCTION chooses MIOpen's method (0 none, 1 the default, 2 and 3 by rows), and
    MIOPEN_DEBUG_DYNAMIC_REDUCTION set to 0 drops the space of its generic kernels.
    """
    width = config.output_size * config.num_gates
    if rows <= 1 or width == 0:
        return 0
    method, generic = settings()
    if method == b"0":
        return 0
    if method in (b"2", b"3"):
        return rows * config.itemsize
    dynamic = (generic or b"1").lower() not in _DISABLED
    fixed = (4096 if dynamic else 0) + (4 if config.dtype == "float16" else 0)
    if rows <= 1024:
        partial = 0
    elif width == 1:
        partial = -(-rows // 256)
    else:
        partial = width * min(32, -(-rows // 1024))
    return fixed + partial * config.itemsize


def workspace(config: RNNConfig, rows: int, *, padded: bool = False) -> int:
    """Workspace of the calls that take an array of descriptors; `padded` adds room for x and y."""
    size = _gate_buffers(config, rows) + reduction(config, rows)
    if padded:
        size += rows * (config.input_size + config.output_size) * config.itemsize
    return size


def sequence_workspace(
    config: RNNConfig, rows: int, batch: int, *, padded: bool, training: bool
) -> int:
    """Workspace of the calls that take a sequence descriptor.

    Padded layouts add what MIOpen needs to convert: sorted copies of the states (three in training,
    two in inference) or of x or y, whichever is larger, and packed x and y.
    """
    size = _gate_buffers(config, rows) + reduction(config, rows)
    if padded:
        x, y = rows * config.input_size, rows * config.output_size
        states = (3 if training else 2) * batch * config.num_layers * config.output_size
        if config.record.has_cell_state:
            states *= 2
        size += (max(states, 2 * max(x, y)) + x + y) * config.itemsize
    return size


def reserve(config: RNNConfig, rows: int, *, compact: bool) -> int:
    """Reserve of training. With dropout it holds the dropped activations and a one-byte mask too.

    compact   whether an LSTM keeps one set of gate buffers and its cell outputs, as MIOpen's
              default algorithm does, instead of two sets
    """
    outputs = rows * config.output_size
    if compact and config.record.has_cell_state:
        size = _gate_buffers(config, rows) + config.num_layers * outputs * config.itemsize
    else:
        size = 2 * _gate_buffers(config, rows)
    if config.dropout:
        size += (config.num_layers - 1) * outputs * (config.itemsize + 1)
    return size


def params_dims(config: RNNConfig) -> tuple[int, int]:
    """A 2-D shape whose product is the number of parameters; its rows have no meaning."""
    features = 0 if config.skip_input else config.input_size
    upper = (config.num_layers - 1) * (config.num_directions + 1)
    biases = 0 if config.bias == "none" else 2 * config.num_layers
    rows = features + (upper + 1) * config.hidden_size + biases
    return rows, config.output_size * config.num_gates


def _gate_buffers(config: RNNConfig, rows: int) -> int:
    per_layer = BUFFERS[config.cell] * rows * config.output_size
    return config.num_layers * per_layer * config.itemsize
