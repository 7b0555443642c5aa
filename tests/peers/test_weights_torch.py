"""torch computes, with weights carried over from a buffer of MIOpen, what MIOpen computes."""

from __future__ import annotations

import pytest
import torch
from cases import BATCH_PADDED, Case
from converted import Converted
from cudnn_harness import cudnn_case
from test_torch import module_of

from miopy.weights import RNNConfig, recognise

pytestmark = pytest.mark.peers


def assert_torch_agrees(case, module):
    converted = Converted(case, "torch")
    module.load_state_dict({name: torch.tensor(a) for name, a in converted.arrays.items()})
    given = {name: value for name, value in vars(converted.data).items() if value is not None}
    data = {name: torch.tensor(value) for name, value in given.items()}
    is_lstm = case.mode == "lstm"
    y, final = module(data["x"], (data["hx"], data["cx"]) if is_lstm else data["hx"])
    hy, cy = final if is_lstm else (final, None)
    loss = (y * data["dy"]).sum() + (hy * data["dhy"]).sum()
    if is_lstm:
        loss = loss + (cy * data["dcy"]).sum()
    loss.backward()
    converted.check(y=y.detach().numpy(), hy=hy.detach().numpy())
    gradients = {name: value.grad.numpy() for name, value in module.named_parameters()}
    converted.check_gradients(gradients)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("num_layers, num_directions", [(1, 1), (3, 1), (2, 2)])
@pytest.mark.parametrize("mode", ["relu", "tanh", "lstm", "gru"])
def test_torch_agrees_with_converted_weights(mode, num_layers, num_directions, bias):
    case = Case(mode, (5,) * 3, 6, 7, num_layers, num_directions, bias=bias, layout=BATCH_PADDED)
    assert_torch_agrees(case, module_of(case))


@pytest.mark.parametrize("num_layers, num_directions", [(1, 1), (3, 1), (2, 2)])
def test_torch_agrees_with_a_converted_projection(num_layers, num_directions):
    sizes = {"input_size": 6, "hidden_size": 7, "projection_size": 3, "num_layers": num_layers}
    case = cudnn_case("lstm", (5,) * 3, **sizes, num_directions=num_directions)
    module = torch.nn.LSTM(6, 7, num_layers, bidirectional=num_directions == 2, proj_size=3)
    assert_torch_agrees(case, module)


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
@pytest.mark.parametrize("bias", [False, True])
def test_a_module_is_recognised_by_its_state(kind, bias):
    module = kind(3, 4, 2, bias=bias, bidirectional=True)
    cell = {torch.nn.RNN: "tanh", torch.nn.LSTM: "lstm", torch.nn.GRU: "gru"}[kind]
    known = {"cell": "tanh"} if kind is torch.nn.RNN else {}
    expected = RNNConfig(cell, 3, 4, 2, "concat", "both" if bias else "none")
    assert recognise("torch", module.state_dict(), **known) == expected


def test_a_projecting_module_is_recognised_by_its_state():
    module = torch.nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    expected = RNNConfig("lstm", 3, 4, 2, "concat", projection_size=2)
    assert recognise("torch", module.state_dict()) == expected
