"""What the benchmarks time: an RNN through miopy's MIOpen functions, and the same through torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from miopy import miopen as mi

MODES = ("inference", "training forward", "training step")
GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
CELLS = {
    "lstm": mi.miopenLSTM,
    "gru": mi.miopenGRU,
    "tanh": mi.miopenRNNTANH,
    "relu": mi.miopenRNNRELU,
}
DTYPES = {"float32": mi.miopenFloat, "float16": mi.miopenHalf}
# torch's gates in MIOpen's order.
TORCH_ORDER = {"lstm": (0, 1, 3, 2), "gru": (1, 0, 2), "tanh": (0,), "relu": (0,)}


@dataclass(frozen=True)
class Shape:
    cell: str
    hidden_size: int
    batch: int
    seq_len: int
    input_size: int = 0  # 0: hidden_size
    num_layers: int = 1
    num_directions: int = 1
    inference_only: bool = False

    @property
    def features(self) -> int:
        return self.input_size or self.hidden_size

    @property
    def name(self) -> str:
        text = f"{self.cell} H{self.hidden_size} B{self.batch} T{self.seq_len}"
        if self.input_size:
            text += f" I{self.input_size}"
        if self.num_layers > 1:
            text += f" L{self.num_layers}"
        return text + (" bi" if self.num_directions == 2 else "")

    @property
    def modes(self) -> tuple[str, ...]:
        return MODES[:1] if self.inference_only else MODES

    @property
    def outputs(self) -> int:
        return self.num_directions * self.hidden_size

    @property
    def states(self) -> tuple[int, int, int]:
        return self.num_layers * self.num_directions, self.batch, self.hidden_size

    def flops(self, mode: str) -> float:
        """Multiply-adds of the products, two operations each."""
        features = self.features + self.hidden_size
        upper = self.num_directions * self.hidden_size + self.hidden_size
        per_row = GATES[self.cell] * self.hidden_size * self.num_directions
        forward = 2.0 * per_row * (features + (self.num_layers - 1) * upper)
        rows = self.batch * self.seq_len
        return forward * rows * (3 if mode == "training step" else 1)


SHAPES = (
    Shape("lstm", 512, 16, 25),
    Shape("lstm", 512, 64, 25),
    Shape("lstm", 1024, 64, 25),
    Shape("lstm", 2048, 32, 25),
    Shape("lstm", 256, 16, 150),
    Shape("lstm", 1536, 8, 50),
    Shape("lstm", 32, 8, 200),
    Shape("lstm", 64, 8, 100),
    Shape("lstm", 128, 128, 50),
    Shape("lstm", 320, 32, 100, input_size=161, num_layers=2, num_directions=2),
    Shape("lstm", 128, 256, 128, num_layers=4),
    Shape("gru", 1536, 32, 187),
    Shape("gru", 2816, 32, 50),
    Shape("gru", 1024, 32, 150),
    Shape("tanh", 1760, 16, 50),
    Shape("relu", 1760, 16, 50),
    Shape("tanh", 2560, 64, 50),
    Shape("lstm", 512, 1, 25, inference_only=True),
    Shape("lstm", 1024, 1, 25, inference_only=True),
    Shape("lstm", 256, 1, 150, inference_only=True),
    Shape("lstm", 1536, 4, 50, inference_only=True),
    Shape("gru", 2816, 1, 100, inference_only=True),
    Shape("gru", 1024, 2, 200, inference_only=True),
)


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
        return {
            "x": np.resize(block, (*rows, shape.features)),
            "w": np.resize(block.clip(-1, 1) * scale, self.params),
            "dy": np.resize(block[::-1], (*rows, shape.outputs)),
            "hx": np.resize(block[7:], shape.states),
            "cx": np.resize(block[77:], shape.states),
        }


class Miopy:
    """One RNN with all its buffers, as a client of the C API would hold it.

    arrays   the module whose arrays the handle's backend takes: numpy or cupy
    """

    def __init__(self, network: Network, data: dict[str, np.ndarray], arrays: Any = np) -> None:
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

    def inference(self) -> None:
        mi.miopenRNNForwardInference(*self._forward())

    def forward(self) -> None:
        mi.miopenRNNForwardTraining(*self._forward(), self.reserve, self.reserve.nbytes)

    def step(self) -> None:
        self.forward()
        network, h, T = self.network, self.network.h_desc, self.shape.seq_len
        spaces = (self.workspace, self.workspace.nbytes, self.reserve, self.reserve.nbytes)
        start = network.handle, network.rnn, T
        mi.miopenRNNBackwardData(
            *(*start, network.y_desc, self.y, network.y_desc, self.dy, h, None, h, None),
            *(self.w_desc, self.w, h, self.hx, h, self.cx),
            *(network.x_desc, self.dx, h, self.dhx, h, self.dcx, *spaces),
        )
        mi.miopenRNNBackwardWeights(
            *(*start, network.x_desc, self.x, h, self.hx, network.y_desc, self.y),
            *(self.w_desc, self.dw, *spaces),
        )

    def job(self, mode: str) -> Callable[[], None]:
        return dict(zip(MODES, (self.inference, self.forward, self.step), strict=True))[mode]

    def results(self) -> tuple[Any, Any]:
        """y and dx of a training step."""
        self.step()
        return self.y, self.dx


class Torch:
    """The same RNN as torch.nn's module; what a user of torch would otherwise run."""

    def __init__(
        self,
        network: Network,
        data: dict[str, np.ndarray],
        device: str = "cpu",
        dtype: str = "float32",
    ) -> None:
        import torch

        shape = network.shape
        kinds = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}
        options = {"num_layers": shape.num_layers, "bidirectional": shape.num_directions == 2}
        if shape.cell not in kinds:
            options["nonlinearity"] = shape.cell
        kind = kinds.get(shape.cell, torch.nn.RNN)
        self.torch, self.shape, self.network = torch, shape, network
        place = {"device": device, "dtype": getattr(torch, dtype)}
        with torch.device(device):
            self.net = kind(shape.features, shape.hidden_size, dtype=place["dtype"], **options)
        given = {name: torch.from_numpy(values).to(**place) for name, values in data.items()}
        self.x, self.dy = given["x"], given["dy"]
        self.x_gradient = self.x.clone().requires_grad_()
        hx, cx = given["hx"], given["cx"]
        self.states = (hx, cx) if shape.cell == "lstm" else hx
        self._copy_weights(given["w"])

    def _copy_weights(self, w: Any) -> None:
        """Both biases and matrices of every pseudo layer, gate by gate."""
        gates, network = GATES[self.shape.cell], self.network
        for layer in range(self.shape.num_layers * self.shape.num_directions):
            tensors = self.net.all_weights[layer]
            for identifier in range(2 * gates):
                gate = TORCH_ORDER[self.shape.cell][identifier % gates]
                rows = slice(gate * self.shape.hidden_size, (gate + 1) * self.shape.hidden_size)
                place = network.rnn, layer, network.x_desc[0], identifier, network.describe(1)
                for query, tensor in (
                    (mi.miopenGetRNNLayerParamOffset, tensors[identifier // gates]),
                    (mi.miopenGetRNNLayerBiasOffset, tensors[2 + identifier // gates]),
                ):
                    offset = query(*place)
                    view = tensor.data[rows]
                    view.copy_(w[offset : offset + view.numel()].view(view.shape))

    def inference(self) -> None:
        with self.torch.no_grad():
            self.net(self.x, self.states)

    def forward(self) -> object:
        return self.net(self.x_gradient, self.states)[0]

    def step(self) -> None:
        self.net.zero_grad()
        self.x_gradient.grad = None
        self.net(self.x_gradient, self.states)[0].backward(self.dy)

    def job(self, mode: str) -> Callable[[], object]:
        return dict(zip(MODES, (self.inference, self.forward, self.step), strict=True))[mode]

    def results(self) -> tuple[Any, Any]:
        """y and dx of a training step, as float32 arrays of NumPy."""
        self.step()
        y = self.forward().detach()
        return y.float().cpu().numpy(), self.x_gradient.grad.float().cpu().numpy()


def disagreement(ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> float:
    """The difference of y and dx relative to their size, in the median sequence.

    A relu whose argument is next to 0 may pass a gradient on one side and not on the other,
    which spoils dx of that sequence, and of no other.
    """
    pairs = zip(ours, theirs, strict=True)
    return max(float(np.median(_size(a - b) / _size(b))) for a, b in pairs)


def _size(tensor: np.ndarray) -> np.ndarray:
    """The norm of every sequence of a tensor (steps, batch, features)."""
    return np.linalg.norm(tensor, axis=(0, 2))
