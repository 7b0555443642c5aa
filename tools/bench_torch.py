"""torch on the benchmarks' networks: its RNN modules as they are, and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch._inductor.config
from bench_jobs import Network
from bench_shapes import INFERENCE, MODES, STEP

KINDS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}


class Torch:
    """torch.nn's module; what a user of torch would otherwise run."""

    def __init__(
        self,
        network: Network,
        data: dict[str, np.ndarray],
        device: str = "cpu",
        dtype: str = "",
    ) -> None:
        shape = network.shape
        options = {"num_layers": shape.num_layers, "bidirectional": shape.num_directions == 2}
        if shape.cell not in KINDS:
            options["nonlinearity"] = shape.cell
        kind = KINDS.get(shape.cell, torch.nn.RNN)
        self.shape = shape
        place = {"device": device, "dtype": getattr(torch, dtype or shape.dtype)}
        with torch.device(device):
            self.net = kind(shape.features, shape.hidden_size, dtype=place["dtype"], **options)
        arrays = network.arrays(data["w"], "torch")
        self.net.load_state_dict({name: torch.from_numpy(a) for name, a in arrays.items()})
        given = {name: torch.from_numpy(data[name]).to(**place) for name in data if name != "w"}
        self.x, self.dy = given["x"], given["dy"]
        self.x_gradient = self.x.clone().requires_grad_()
        hx, cx = given["hx"], given["cx"]
        self.states = (hx, cx) if shape.cell == "lstm" else hx

    def inference(self) -> torch.Tensor:
        with torch.no_grad():
            return self.net(self.x, self.states)[0]

    def forward(self) -> torch.Tensor:
        return self.net(self.x_gradient, self.states)[0]

    def step(self) -> torch.Tensor:
        self.net.zero_grad()
        self.x_gradient.grad = None
        y = self.forward()
        y.backward(self.dy)
        return y

    def job(self, mode: str) -> Callable[[], torch.Tensor] | None:
        return dict(zip(MODES, (self.inference, self.forward, self.step), strict=True))[mode]

    def results(self, mode: str = STEP) -> dict[str, np.ndarray]:
        """y, and of a step dx, as float32 arrays of NumPy."""
        job = self.job(mode)
        assert job is not None
        found = {"y": as_array(job())}
        return found | ({"dx": as_array(self.x_gradient.grad)} if mode == STEP else {})

    def matrices(self) -> dict[str, np.ndarray]:
        """Gradients of the weights after a step, by torch's names."""
        named = self.net.named_parameters()
        return {name: as_array(p.grad) for name, p in named if name.startswith("weight")}


def as_array(tensor: Any) -> np.ndarray:
    return tensor.detach().float().cpu().numpy()


class UnrolledTorch(Torch):
    """torch.compile of the module. It unrolls all but LSTM's inference, which takes minutes."""

    def __init__(self, network: Network, data: dict[str, np.ndarray]) -> None:
        super().__init__(network, data)
        torch._dynamo.reset()  # or it would give up compiling after some networks
        torch._dynamo.config.allow_rnn = True
        torch._inductor.config.compile_threads = 1  # or processes start beside what is timed
        self.net.eval()  # freezing, which packs the weights beforehand, asks for it
        self.frozen = torch.compile(self.net, fullgraph=True, options={"freezing": True})
        self.compiled = torch.compile(self.net, fullgraph=True)

    def inference(self) -> torch.Tensor:
        with torch.no_grad():
            return self.frozen(self.x, self.states)[0]

    def forward(self) -> torch.Tensor:
        return self.compiled(self.x_gradient, self.states)[0]


class CompiledTorch(UnrolledTorch):
    """torch.compile where it keeps the steps in a loop: oneDNN's LSTM with packed weights."""

    def job(self, mode: str) -> Callable[[], torch.Tensor] | None:
        return super().job(mode) if mode == INFERENCE and self.shape.cell == "lstm" else None
