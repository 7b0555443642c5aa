"""The same numbers as torch: weights moved by offset, outputs and all gradients in float32.

torch keeps, per layer and direction, one matrix for all gates and role, its gates in an order of
its own; packed sequences are the very layout that MIOpen calls packed.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from cases import BATCH_PADDED, PACKED, Case, expected
from harness import Run, assert_results, tensor_descriptor
from oracle_network import ROLES

from miopy import miopen as mi

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("backend")]

# Where torch keeps MIOpen's gates: torch's LSTM is i f g o, its GRU r z n.
TORCH_ORDER = {"relu": "a", "tanh": "a", "lstm": "ifgo", "gru": "rzn"}
SUFFIX = {"input": "ih", "recurrent": "hh"}


def module_of(case):
    kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(case.mode, torch.nn.RNN)
    options = {} if case.mode in ("lstm", "gru") else {"nonlinearity": case.mode}
    return kind(
        case.input_size,
        case.hidden_size,
        case.num_layers,
        bias=case.bias,
        bidirectional=case.num_directions == 2,
        **options,
    )


def parameters_of(run, module):
    """Every gate of every torch parameter: (rows of torch's tensor, offset in MIOpen's buffer)."""
    case, network = run.case, run.case.network
    x_desc = tensor_descriptor(case.dtype, [case.batch, case.input_size])
    offsets = {"weight": mi.miopenGetRNNLayerParamOffset, "bias": mi.miopenGetRNNLayerBiasOffset}
    for key in network.keys():
        index = network.gates.index(key.gate)
        index += len(network.gates) * ROLES.index(key.role)
        layer = key.layer * case.num_directions + key.direction
        first = TORCH_ORDER[case.mode].index(key.gate) * case.hidden_size
        for kind, offset_of in offsets.items() if case.bias else [*offsets.items()][:1]:
            desc = mi.miopenCreateTensorDescriptor()
            offset = offset_of(run.rnn, layer, x_desc, index, desc)
            name = f"{kind}_{SUFFIX[key.role]}_l{key.layer}{'_reverse' * key.direction}"
            yield getattr(module, name), slice(first, first + case.hidden_size), offset


def torch_results(run):
    """y, states and all gradients from torch, given the weights and data of a run."""
    case, data = run.case, expected(run.case).data
    module, is_lstm = module_of(case), case.mode == "lstm"
    with torch.no_grad():
        for parameter, rows, offset in parameters_of(run, module):
            part = parameter[rows]
            flat = torch.from_numpy(data.w[offset : offset + part.numel()].copy())
            part.copy_(flat.reshape(part.shape))
    x, hx, cx = (torch.tensor(a, requires_grad=True) for a in (data.x, data.hx, data.cx))
    pack = torch.nn.utils.rnn.pack_padded_sequence
    y, states = module(pack(x, case.lengths, enforce_sorted=False), (hx, cx) if is_lstm else hx)
    y, _ = torch.nn.utils.rnn.pad_packed_sequence(y)
    hy, cy = states if is_lstm else (states, None)
    loss = (y * torch.tensor(data.dy)).sum() + (hy * torch.tensor(data.dhy)).sum()
    if is_lstm:
        loss = loss + (cy * torch.tensor(data.dcy)).sum()
    loss.backward()
    dw = np.full(data.w.shape, np.nan)
    for parameter, rows, offset in parameters_of(run, module):
        gradient = parameter.grad[rows].numpy().ravel()
        dw[offset : offset + gradient.size] = gradient
    results = {"y": y, "hy": hy, "dx": x.grad, "dhx": hx.grad}
    results |= {"cy": cy, "dcx": cx.grad} if is_lstm else {}
    return {name: value.detach().numpy() for name, value in results.items()} | {"dw": dw}


@pytest.mark.parametrize("layout", [PACKED, BATCH_PADDED])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", TORCH_ORDER)
def test_torch_agrees(mode, num_directions, num_layers, bias, layout):
    lengths = (9, 7, 7, 2, 1) if layout == PACKED else (2, 9, 1, 7, 7)
    case = Case(mode, lengths, 13, 24, num_layers, num_directions, bias, layout=layout)
    run = Run(case)
    reference = torch_results(run)
    assert_results(case, run.training(), reference)
    forward = {name: reference[name] for name in ("y", "hy", "cy") if name in reference}
    assert_results(case, run.forward_inference(), forward)


@pytest.mark.parametrize("mode", ["tanh", "lstm", "gru"])
def test_torch_agrees_on_a_large_network(mode):
    case = Case(mode, (30,) * 16, 96, 160, 2, 2)
    run = Run(case)
    assert_results(case, run.training(), torch_results(run))
