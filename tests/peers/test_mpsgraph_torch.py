"""torch's LSTM and GRU, computed by MPSGraph's operations as torch's own back end calls them: one
per layer, with one bias that is the sum of torch's two, but of GRU's new memory with both."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from mpsgraph_stack import Stack

from miopy import mpsgraph

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("backend")]

STEPS, BATCH, INPUT, HIDDEN = 6, 4, 5, 7
ORDER = {"lstm": (0, 1, 2, 3), "gru": (1, 0, 2)}  # torch's blocks in MPSGraph's order
TOLERANCE = {"rtol": 0, "atol": 1e-12}


def in_order(cell: str, parameter: torch.Tensor) -> np.ndarray:
    """The blocks of one of torch's arrays, or the other way round: the orders are their own
    inverses."""
    parts = np.split(parameter.detach().numpy(), len(ORDER[cell]))
    return np.concatenate([parts[gate] for gate in ORDER[cell]])


def weights_of(cell: str, module: torch.nn.RNNBase) -> dict[str, np.ndarray]:
    """MPSGraph's arrays of all layers."""
    found = {}
    sides = ("", "_reverse")[: 1 + module.bidirectional]
    for layer in range(module.num_layers):

        def of(name: str, layer: int = layer) -> list[np.ndarray]:
            return [in_order(cell, getattr(module, f"{name}_l{layer}{side}")) for side in sides]

        recurrent, second = np.stack(of("weight_hh")), np.stack(of("bias_hh"))
        bias = np.stack(of("bias_ih"))
        if cell == "gru":
            found[f"layer{layer}.secondaryBias"] = second[:, 2 * HIDDEN :].flatten()
            second[:, 2 * HIDDEN :] = 0
        found[f"layer{layer}.recurrentWeight"] = recurrent if len(sides) == 2 else recurrent[0]
        found[f"layer{layer}.inputWeight"] = np.concatenate(of("weight_ih"))
        found[f"layer{layer}.bias"] = (bias + second).ravel()
    return found


@pytest.mark.parametrize("num_layers, bidirectional", [(1, False), (3, False), (2, True)])
@pytest.mark.parametrize("cell", ORDER)
def test_torch_agrees(cell, num_layers, bidirectional):
    torch.manual_seed(0)
    kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell]
    module = kind(INPUT, HIDDEN, num_layers, bidirectional=bidirectional).double()
    directions = 1 + bidirectional
    shape = num_layers * directions, BATCH, HIDDEN
    x = torch.randn(STEPS, BATCH, INPUT, dtype=torch.float64, requires_grad=True)
    hx, cx = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for _ in range(2))
    y, last = module(x, (hx, cx) if cell == "lstm" else hx)
    hy, cy = last if cell == "lstm" else (last, torch.zeros(shape, dtype=torch.float64))
    dy, dhy, dcy = torch.randn_like(y), torch.randn_like(hy), torch.randn_like(cy)
    ((y * dy).sum() + (hy * dhy).sum() + (cy * dcy).sum()).backward()

    stack = Stack(cell, weights_of(cell, module), num_layers, directions)
    found = stack.forward(*(each.detach().numpy() for each in (x, hx, cx)))
    found |= stack.backward(dy.numpy(), dhy.numpy(), dcy.numpy())
    theirs = {"y": y, "hy": hy, "dx": x.grad, "dhx": hx.grad}
    theirs |= {"cy": cy, "dcx": cx.grad} if cell == "lstm" else {}
    for name, value in theirs.items():
        np.testing.assert_allclose(found[name], value.detach().numpy(), err_msg=name, **TOLERANCE)
    with torch.no_grad():  # gradients in the place of the parameters
        for parameter in module.parameters():
            parameter.copy_(parameter.grad)
    for name, gradient in weights_of(cell, module).items():
        if name.endswith(".bias"):
            continue  # there it is the sum of two, of which each has this gradient
        np.testing.assert_allclose(found[name], gradient, err_msg=name, **TOLERANCE)
    for layer in range(num_layers):
        second = [
            in_order(cell, getattr(module, f"bias_ih_l{layer}{side}"))
            for side in ("", "_reverse")[:directions]
        ]
        np.testing.assert_allclose(found[f"layer{layer}.bias"], np.concatenate(second), **TOLERANCE)


def test_torchs_tensors_go_in_as_they_are():
    """In bfloat16 too; what comes out goes back without a copy."""
    x, weights = torch.randn(3, 2, 5), torch.randn(7, 7)
    inputs, descriptor = torch.randn(7, 5), mpsgraph.MPSGraphSingleGateRNNDescriptor.descriptor()
    (h,) = mpsgraph.singleGateRNN(x, weights, inputs, descriptor=descriptor)
    assert torch.from_numpy(h).shape == (3, 2, 7)
    wanted = torch.nn.RNN(5, 7, nonlinearity="relu", bias=False)
    wanted.weight_ih_l0.data, wanted.weight_hh_l0.data = inputs, weights
    np.testing.assert_allclose(h, wanted(x)[0].detach().numpy(), rtol=1e-5, atol=1e-5)
    narrow = [each.bfloat16() for each in (x, weights, inputs)]
    (rounded,) = mpsgraph.singleGateRNN(*narrow, descriptor=descriptor)
    assert rounded.dtype.name == "bfloat16"
