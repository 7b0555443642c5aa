"""What bench.py times: one RNN through miopy's MIOpen functions, and the same through torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


class Miopy:
    """One RNN with all its buffers, as a client of the C API would hold it."""

    def __init__(self, shape: Shape) -> None:
        H, B, T, I = shape.hidden_size, shape.batch, shape.seq_len, shape.features  # noqa: E741
        L, D = shape.num_layers, shape.num_directions
        self.shape, self.handle = shape, mi.miopenCreate()
        self.rnn = mi.miopenCreateRNNDescriptor()
        mi.miopenSetRNNDescriptor(
            self.rnn,
            *(H, L, mi.miopenRNNlinear, D - 1, CELLS[shape.cell], mi.miopenRNNwithBias),
            *(mi.miopenRNNdefault, mi.miopenFloat),
        )
        self.x_desc, self.y_desc = [_describe(B, I)] * T, [_describe(B, D * H)] * T
        self.h_desc = _describe(L * D, B, H)
        handle, rnn = self.handle, self.rnn
        nbytes = mi.miopenGetRNNParamsSize(handle, rnn, self.x_desc[0], mi.miopenFloat)
        self.w_desc = _describe(nbytes // 4)
        self.workspace = _bytes(mi.miopenGetRNNWorkspaceSize(handle, rnn, T, self.x_desc))
        self.reserve = _bytes(mi.miopenGetRNNTrainingReserveSize(handle, rnn, T, self.x_desc))
        rng = np.random.default_rng(1)
        scale = H**-0.5
        self.w, self.dw = (rng.uniform(-scale, scale, nbytes // 4).astype(np.float32) for _ in "ab")
        self.x, self.dx = (rng.standard_normal((T, B, I)).astype(np.float32) for _ in "ab")
        self.y, self.dy = (rng.standard_normal((T, B, D * H)).astype(np.float32) for _ in "ab")
        states = [rng.standard_normal((L * D, B, H)).astype(np.float32) for _ in range(6)]
        self.hx, self.cx, self.hy, self.cy, self.dhx, self.dcx = states

    def _forward(self) -> tuple[object, ...]:
        h = self.h_desc
        start = (self.handle, self.rnn, self.shape.seq_len, self.x_desc, self.x, h, self.hx, h)
        weights = (self.cx, self.w_desc, self.w, self.y_desc, self.y, h, self.hy, h, self.cy)
        return (*start, *weights, self.workspace, self.workspace.nbytes)

    def inference(self) -> None:
        mi.miopenRNNForwardInference(*self._forward())

    def forward(self) -> None:
        mi.miopenRNNForwardTraining(*self._forward(), self.reserve, self.reserve.nbytes)

    def step(self) -> None:
        self.forward()
        h, T = self.h_desc, self.shape.seq_len
        spaces = (self.workspace, self.workspace.nbytes, self.reserve, self.reserve.nbytes)
        mi.miopenRNNBackwardData(
            *(self.handle, self.rnn, T, self.y_desc, self.y, self.y_desc, self.dy),
            *(h, None, h, None, self.w_desc, self.w, h, self.hx, h, self.cx),
            *(self.x_desc, self.dx, h, self.dhx, h, self.dcx, *spaces),
        )
        mi.miopenRNNBackwardWeights(
            *(self.handle, self.rnn, T, self.x_desc, self.x, h, self.hx, self.y_desc, self.y),
            *(self.w_desc, self.dw, *spaces),
        )

    def job(self, mode: str) -> Callable[[], None]:
        return dict(zip(MODES, (self.inference, self.forward, self.step), strict=True))[mode]


def _describe(*dims: int) -> object:
    descriptor = mi.miopenCreateTensorDescriptor()
    mi.miopenSetTensorDescriptor(descriptor, mi.miopenFloat, len(dims), list(dims), None)
    return descriptor


def _bytes(count: int) -> np.ndarray:
    return np.zeros(count, np.uint8)


class Torch:
    """The same RNN as torch.nn's module; what a user of torch on a CPU would otherwise run."""

    def __init__(self, ours: Miopy) -> None:
        import torch

        shape = ours.shape
        kinds = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}
        options = {"num_layers": shape.num_layers, "bidirectional": shape.num_directions == 2}
        if shape.cell not in kinds:
            options["nonlinearity"] = shape.cell
        kind = kinds.get(shape.cell, torch.nn.RNN)
        self.torch, self.shape = torch, shape
        self.net = kind(shape.features, shape.hidden_size, **options)
        self.x = torch.from_numpy(ours.x.copy())
        self.x_gradient = self.x.clone().requires_grad_()
        self.dy = torch.from_numpy(ours.dy)
        hx, cx = torch.from_numpy(ours.hx), torch.from_numpy(ours.cx)
        self.states = (hx, cx) if shape.cell == "lstm" else hx
        self._copy_weights(ours)

    def _copy_weights(self, ours: Miopy) -> None:
        """Both biases and matrices of every pseudo layer, gate by gate."""
        gates = GATES[self.shape.cell]
        for layer in range(self.shape.num_layers * self.shape.num_directions):
            tensors = self.net.all_weights[layer]
            for identifier in range(2 * gates):
                gate = TORCH_ORDER[self.shape.cell][identifier % gates]
                rows = slice(gate * self.shape.hidden_size, (gate + 1) * self.shape.hidden_size)
                place = ours.rnn, layer, ours.x_desc[0], identifier, _describe(1)
                for query, tensor in (
                    (mi.miopenGetRNNLayerParamOffset, tensors[identifier // gates]),
                    (mi.miopenGetRNNLayerBiasOffset, tensors[2 + identifier // gates]),
                ):
                    offset = query(*place)
                    view = tensor.data[rows]
                    values = ours.w[offset : offset + view.numel()].reshape(view.shape)
                    view.copy_(self.torch.from_numpy(values))

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

    def disagreement(self, ours: Miopy) -> float:
        """The difference of y and dx relative to their size, in the median sequence.

        A relu whose argument is next to 0 may pass a gradient on one side and not on the other,
        which spoils dx of that sequence, and of no other.
        """
        ours.step()
        self.step()
        y = self.forward().detach().numpy()
        pairs = ((ours.y, y), (ours.dx, self.x_gradient.grad.numpy()))
        return max(float(np.median(_size(a - b) / _size(b))) for a, b in pairs)


def _size(tensor: np.ndarray) -> np.ndarray:
    """The norm of every sequence of a tensor (steps, batch, features)."""
    return np.linalg.norm(tensor, axis=(0, 2))
