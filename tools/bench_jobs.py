"""An RNN with its data, run through miopy's MIOpen functions, and how far two sides lie apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import bench_lines
import numpy as np
from bench_shapes import FORWARD, INFERENCE, STEP, Shape

from miopy import miopen as mi
from miopy.weights import RNNConfig, convert

CELLS = {
    "lstm": mi.miopenLSTM,
    "gru": mi.miopenGRU,
    "tanh": mi.miopenRNNTANH,
    "relu": mi.miopenRNNRELU,
}
DTYPES = {"float32": mi.miopenFloat, "float16": mi.miopenHalf}


Call = tuple[Callable[..., None], tuple[object, ...]]


class Network:
    """Descriptors of an RNN, and its data as float32 arrays of NumPy by the names of the API."""

    def __init__(self, shape: Shape, handle: Any, dtype: str = "float32") -> None:
        B, T = shape.batch, shape.seq_len
        self.shape, self.handle, self.dtype = shape, handle, dtype
        self.rnn = mi.miopenCreateRNNDescriptor()
        mi.miopenSetRNNDescriptor(
            self.rnn,
            *(shape.hidden_size, shape.num_layers, mi.miopenRNNlinear, shape.num_directions - 1),
            *(CELLS[shape.cell], mi.miopenRNNwithBias, mi.miopenRNNdefault, DTYPES[dtype]),
        )
        self.x_desc = [self.describe(B, shape.features)] * T
        self.y_desc = [self.describe(B, shape.outputs)] * T
        self.h_desc = self.describe(*shape.states)
        self.params_nbytes = mi.miopenGetRNNParamsSize(
            handle, self.rnn, self.x_desc[0], DTYPES[dtype]
        )
        self.params = self.params_nbytes // np.dtype(dtype).itemsize

    def describe(self, *dims: int) -> Any:
        descriptor = mi.miopenCreateTensorDescriptor()
        mi.miopenSetTensorDescriptor(descriptor, DTYPES[self.dtype], len(dims), list(dims), None)
        return descriptor

    def spaces(self) -> tuple[int, int]:
        """Bytes of workspace and reserve."""
        query = self.handle, self.rnn, self.shape.seq_len, self.x_desc
        return mi.miopenGetRNNWorkspaceSize(*query), mi.miopenGetRNNTrainingReserveSize(*query)

    def draw(self) -> dict[str, np.ndarray]:
        shape, rng = self.shape, np.random.default_rng(1)
        rows = shape.seq_len, shape.batch
        # A long block, repeated: no two rows are alike, and weights by the gigabyte cost little.
        block = rng.standard_normal(999_983).astype(np.float32)
        scale = np.float32(shape.hidden_size**-0.5)
        drawn = {
            "x": np.resize(block, (*rows, shape.features)),
            "w": np.resize(block.clip(-1, 1) * scale, self.params),
            "dy": np.resize(block[::-1], (*rows, shape.outputs)),
            "hx": np.resize(block[7:], shape.states),
            "cx": np.resize(block[77:], shape.states),
        }
        return {name: bench_lines.asarray(values) for name, values in drawn.items()}

    def arrays(self, w: np.ndarray, format: str) -> dict[str, np.ndarray]:
        """float32 weights of MIOpen, or their gradients, as the arrays of another format."""
        shape = self.shape
        direction = "concat" if shape.num_directions == 2 else "left_to_right"
        sizes = shape.features, shape.hidden_size, shape.num_layers
        config = RNNConfig(shape.cell, *sizes, direction)
        return convert({"weights": w}, config, source="miopen", target=format)[0]


class Miopy:
    """One RNN with all its buffers, as a client of the C API would hold it.

    arrays   the module whose arrays the handle's backend takes: bench_lines or cupy
    """

    def __init__(
        self, network: Network, data: dict[str, np.ndarray], arrays: Any = bench_lines
    ) -> None:
        self.network, self.shape = network, network.shape
        for name, values in data.items():
            setattr(self, name, arrays.asarray(values.astype(network.dtype)))
        for name, like in (("dx", "x"), ("y", "dy"), ("dw", "w")):
            setattr(self, name, arrays.empty_like(getattr(self, like)))
        for name in ("hy", "cy", "dhx", "dcx"):
            setattr(self, name, arrays.empty_like(self.hx))
        spaces = network.spaces()
        self.workspace, self.reserve = (arrays.empty(nbytes, np.uint8) for nbytes in spaces)
        self.w_desc = network.describe(network.params)

    def _forward(self) -> tuple[object, ...]:
        network, h = self.network, self.network.h_desc
        start = (network.handle, network.rnn, self.shape.seq_len, network.x_desc, self.x)
        states = (h, self.hx, h, self.cx, self.w_desc, self.w)
        outputs = (network.y_desc, self.y, h, self.hy, h, self.cy)
        return (*start, *states, *outputs, self.workspace, self.workspace.nbytes)

    def _backward(self) -> list[Call]:
        network, h, T = self.network, self.network.h_desc, self.shape.seq_len
        spaces = (self.workspace, self.workspace.nbytes, self.reserve, self.reserve.nbytes)
        start = network.handle, network.rnn, T
        data = (
            *(*start, network.y_desc, self.y, network.y_desc, self.dy, h, None, h, None),
            *(self.w_desc, self.w, h, self.hx, h, self.cx),
            *(network.x_desc, self.dx, h, self.dhx, h, self.dcx, *spaces),
        )
        weights = (
            *(*start, network.x_desc, self.x, h, self.hx, network.y_desc, self.y),
            *(self.w_desc, self.dw, *spaces),
        )
        return [(mi.miopenRNNBackwardData, data), (mi.miopenRNNBackwardWeights, weights)]

    def _calls(self, mode: str) -> list[Call]:
        if mode == INFERENCE:
            return [(mi.miopenRNNForwardInference, self._forward())]
        given = (*self._forward(), self.reserve, self.reserve.nbytes)
        forward = (mi.miopenRNNForwardTraining, given)
        return [forward, *(self._backward() if mode == STEP else [])]

    def job(self, mode: str) -> Callable[[], None]:
        """A pass or more on the arrays that it has now."""
        calls = self._calls(mode)

        def run() -> None:
            for function, arguments in calls:
                function(*arguments)

        return run

    def inference(self) -> None:
        self.job(INFERENCE)()

    def forward(self) -> None:
        self.job(FORWARD)()

    def step(self) -> None:
        self.job(STEP)()

    def results(self, mode: str = STEP) -> dict[str, Any]:
        """What a pass wrote: y; after a training step also dx and, as MIOpen has it, dw."""
        self.job(mode)()
        return {"y": self.y} | ({"dx": self.dx, "dw": self.dw} if mode == STEP else {})


def disagreement(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> float:
    """The largest difference of y and dx relative to their size, in the median sequence.

    A relu whose argument is next to 0 may pass a gradient on one side and not on the other,
    which spoils dx of that sequence, and of no other.
    """
    names = [name for name in ("y", "dx") if name in theirs]
    apart = [np.median(_relative(_size(ours[n] - theirs[n]), _size(theirs[n]))) for n in names]
    return float(np.max(apart))  # NaN if one is


def _relative(apart: np.ndarray, size: np.ndarray) -> np.ndarray:
    """0 where nothing differs, also of zeros, which relu may give for a whole sequence."""
    with np.errstate(divide="ignore"):
        return np.divide(apart, size, out=np.zeros_like(apart), where=apart != 0)


def _size(tensor: np.ndarray) -> np.ndarray:
    """The norm of every sequence of a tensor (steps, batch, features)."""
    return np.linalg.norm(tensor, axis=(0, 2))


def matrices_apart(ours: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray]) -> float:
    """The largest difference of gradients of matrices relative to their size."""
    norm = np.linalg.norm
    pairs = [(norm(ours[name] - array), norm(array)) for name, array in theirs.items()]
    return float(np.max(_relative(*np.array(pairs).T)))  # NaN if one is
