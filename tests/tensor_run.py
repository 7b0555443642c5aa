"""The core's passes over parameters in separate tensors, beside the float64 reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import oracle
from oracle_network import ATTENTIVE, Network, Parameters
from storage import loaded, stored
from tensors import IN_FIRST, OUT_FIRST, Tensors

from miopy.core import sequence as sequences
from miopy.core.backend import Backend
from miopy.core.backward_data import backward_data
from miopy.core.backward_weights import backward_weights
from miopy.core.config import RNNConfig
from miopy.core.forward import Rows, forward
from miopy.core.plan import plan

MARK = 77.0  # what is in gradients before, and must stay in the gaps


def config_of(network: Network, dtype: str) -> RNNConfig:
    direction = "concat" if network.num_directions == 2 else "left_to_right"
    direction = "right_to_left" if network.backwards else direction
    return RNNConfig(
        network.mode,
        network.input_size,
        network.hidden_size,
        network.num_layers,
        "sum" if network.sums else direction,
        network.bias,
        dtype=dtype,
        projection_size=network.projection_size,
        independent=network.independent,
        recurrent_size=network.recurrent_size,
    )


@dataclass(frozen=True)
class Topology:
    """What runs, on sequences of these lengths, in x and y padded and seq-major; and how matrices
    lie where forward, backward data and backward weights get them."""

    network: Network
    lengths: tuple[int, ...] = (4, 2, 4, 1)
    dtype: str = "float64"
    notations: tuple[str, str, str] = (IN_FIRST, OUT_FIRST, IN_FIRST)


@dataclass(frozen=True)
class Data:
    """Numbers of the storage type: x, dy (T, N, .), states and attention (T, N, 1), parameters."""

    arrays: dict[str, np.ndarray]
    parameters: Parameters


def draw(topology: Topology, seed: int = 0) -> Data:
    """Uniform in [-1, 1); parameters in half of that."""
    network, lengths, dtype = topology.network, topology.lengths, topology.dtype
    rng = np.random.default_rng(seed)

    def uniform(*shape: int) -> np.ndarray:
        return loaded(stored(rng.uniform(-1, 1, shape), dtype), dtype).astype(np.float64)

    steps = max(lengths), len(lengths)
    states = network.num_layers * network.num_directions, len(lengths)
    arrays = {
        "x": uniform(*steps, network.input_size),
        "dy": uniform(*steps, network.output_size),
        "hx": uniform(*states, network.initial_size),
        "dhy": uniform(*states, network.state_size),
        "cx": uniform(*states, network.hidden_size),
        "dcy": uniform(*states, network.hidden_size),
    }
    if network.mode in ATTENTIVE:
        arrays["attention"] = uniform(*steps, 1)
    parameters = Parameters.zeros(network)
    for values in (parameters.weights, parameters.biases):
        for value in values.values():
            value[...] = uniform(*value.shape) / 2
    return Data(arrays, parameters)


Results = tuple[dict[str, np.ndarray], Parameters]


def expected(topology: Topology, data: Data, null: frozenset[str] = frozenset()) -> Results:
    """Results by name, and the gradients of parameters, as the reference has them."""
    given = {name: None if name in null else array for name, array in data.arrays.items()}
    states, attention = (given["hx"], given["cx"]), given.get("attention")
    run = oracle.forward(
        topology.network, data.parameters, given["x"], topology.lengths, *states, (), attention
    )
    back = oracle.backward(run, given["dy"], given["dhy"], given["dcy"])
    found = {"y": run.y, "hy": run.hy, "cy": run.cy}
    found |= {"dx": back.dx, "dhx": back.dhx, "dcx": back.dcx, "dattention": back.dattention}
    return {name: array for name, array in found.items() if array is not None}, back.parameters


class TensorRun:
    """The passes on memory of exactly their size, full of NaN but for what goes in."""

    def __init__(
        self,
        topology: Topology,
        data: Data,
        backend: Backend,
        null: frozenset[str] = frozenset(),
    ) -> None:
        self.backend, self.null, self.dtype = backend, null, topology.dtype
        network, lengths = topology.network, topology.lengths
        self.config = config_of(network, self.dtype)
        self.sequence = sequences.from_lengths(lengths)
        self.index = self.sequence.rows_of(sequences.SEQ_MAJOR, len(lengths))
        self.valid = np.arange(max(lengths))[:, None] < np.array(lengths)  # (T, N)
        self.arrays = {name: self._placed(name, values) for name, values in data.arrays.items()}
        like = {"dx": "x", "y": "dy", "dhx": "hx", "hy": "dhy", "dcx": "cx", "cy": "dcy"}
        for name, other in (like | {"dattention": "attention"}).items():
            if other in data.arrays:
                empty = np.full_like(data.arrays[other], np.nan)
                self.arrays[name] = stored(empty, self.dtype)
        forward, backward, gradients = topology.notations
        self.forward_weights = Tensors.full(network, self.dtype, forward, np.nan)
        self.backward_weights = Tensors.full(network, self.dtype, backward, np.nan)
        self.gradients = Tensors.full(network, self.dtype, gradients, MARK)
        self.forward_weights.set(data.parameters)
        self.backward_weights.set(data.parameters)

    def _placed(self, name: str, values: np.ndarray) -> np.ndarray:
        """Memory of an array, NaN where a tensor with steps is padded."""
        if name in ("x", "dy", "attention"):
            values = np.where(self.valid[..., None], values, np.nan)
        return stored(values, self.dtype)

    def _rows(self, *names: str) -> dict[str, Rows]:
        of = (name for name in names if name in self.arrays)
        return {name: Rows(self.arrays[name].ctypes.data, self.index) for name in of}

    def _states(self, *names: str) -> dict[str, int | None]:
        has_c = self.config.record.has_cell_state
        return {
            name: None
            if name in self.null or ("c" in name and not has_c)
            else self.arrays[name].ctypes.data
            for name in names
        }

    def forward(self, training: bool = True) -> None:
        """Inference writes y, hy and cy as well."""
        self.plan = plan(self.config, self.sequence.rows, training=training, padded=True)
        self.workspace = np.full(self.plan.workspace.nbytes, 0xFF, np.uint8)
        self.reserve = np.full(self.plan.reserve.nbytes, 0xFF, np.uint8)
        forward(
            *(self.plan, self.backend, self.sequence),
            weights=self.forward_weights.placement(),
            **self._rows("x", "y", "attention"),
            **self._states("hx", "cx", "hy", "cy"),
            workspace=self.workspace.ctypes.data,
            reserve=self.reserve.ctypes.data if training else None,
        )

    def backward(self, accumulate: bool = False) -> None:
        common = self.plan, self.backend, self.sequence
        spaces = {"workspace": self.workspace.ctypes.data, "reserve": self.reserve.ctypes.data}
        backward_data(
            *common,
            weights=self.backward_weights.placement(),
            **self._rows("dy", "dx", "attention", "dattention"),
            **self._states("hx", "cx", "dhy", "dcy", "dhx", "dcx"),
            **spaces,
        )
        backward_weights(
            *common,
            dw=self.gradients.placement(),
            **self._rows("x"),
            **self._states("hx"),
            **spaces,
            accumulate=accumulate,
        )

    def value(self, name: str) -> np.ndarray:
        """Numbers of an array, zero where it is padded."""
        values = loaded(self.arrays[name], self.dtype).astype(np.float64)
        if name in ("y", "dx", "dattention"):
            padding = values[~self.valid]
            assert np.isnan(padding).all(), f"{name}: its padding was written"
            values[~self.valid] = 0
        return values
