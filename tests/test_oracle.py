"""The float64 reference itself: against finite differences, against torch, and its buffer."""

from __future__ import annotations

import itertools

import numpy as np
import oracle
import pytest
from oracle import Key, Network
from oracle_network import ATTENTIVE

LENGTHS = (3, 1, 0, 2)


def draw(network, seed=0, lengths=LENGTHS):
    """Random parameters, inputs and output gradients; the padding of x and dy is NaN."""
    rng = np.random.default_rng(seed)
    parameters = oracle.unpack(network, rng.uniform(-0.7, 0.7, oracle.buffer_size(network)))
    steps, batch = max(lengths), len(lengths)
    layers = network.num_layers * network.num_directions
    x = rng.uniform(-1, 1, (steps, batch, network.input_size))
    dy = rng.uniform(-1, 1, (steps, batch, network.output_size))
    padding = np.arange(steps)[:, None] >= np.array(lengths)
    x[padding] = dy[padding] = np.nan
    sizes = network.initial_size, network.state_size
    hx, dhy = (rng.uniform(-1, 1, (layers, batch, size)) for size in sizes)
    cx, dcy = (rng.uniform(-1, 1, (layers, batch, network.hidden_size)) for _ in range(2))
    return parameters, x, hx, cx, dy, dhy, dcy


def draw_attention(network, lengths=LENGTHS):
    """(T, N, 1), or None for a cell that takes none."""
    shape = (max(lengths), len(lengths), 1)
    return np.random.default_rng(2).random(shape) if network.mode in ATTENTIVE else None


def slope(loss, arrays, steps, eps=1e-6):
    """The central difference of a scalar function where all arrays, changed in place, go on by
    their steps."""
    ends, values = [], [array.copy() for array in arrays]
    for shift in (eps, -eps):
        for array, value, step in zip(arrays, values, steps, strict=True):
            array[...] = value + shift * step
        ends.append(loss())
    for array, value in zip(arrays, values, strict=True):
        array[...] = value
    return (ends[0] - ends[1]) / (2 * eps)


NETWORKS = [
    Network(mode, 2 if skip_input else 3, 2, 3, directions, skip_input=skip_input)
    for mode, directions, skip_input in itertools.product(oracle.EVERY_GATES, (1, 2), (False, True))
]
NETWORKS += [
    Network(mode, 3, 2, 2, 2, bias, idle_keeps_state=True, vendor="cudnn")
    for mode, bias in itertools.product(oracle.GATES, ("none", "input", "recurrent"))
]
NETWORKS += [
    Network("lstm", 2, 3, 2, 2, projection_size=2),
    Network("lstm", 2, 3, 2, 2, clip=(-0.2, 0.3)),
    Network("lstm", 2, 3, 2, 1, projection_size=2, clip=(-0.1, 0.1), idle_keeps_state=True),
    Network("peephole_lstm", 2, 3, 2, 2, projection_size=2, clip=(-0.2, 0.3)),
    Network("gru", 2, 3, 2, backwards=True, bias="merged"),
    Network("lstm", 2, 3, 2, 2, projection_size=2, sums=True, independent=True),
    Network("lbr_augru", 2, 3, 3, 2, independent=True, bias="merged"),
    Network("peephole_lstm", 2, 3, 2, 2, sums=True, independent=True, recurrent_size=4),
    Network("tanh", 2, 3, 2, backwards=True, recurrent_size=2),
]


@pytest.mark.parametrize("network", NETWORKS)
def test_gradients_equal_finite_differences(network):
    """In random directions, of one kind of input after another: a wrong element of a gradient shows
    in each."""
    mode, lengths = network.mode, (1, 0, 1) if network.recurrent_size else LENGTHS
    parameters, x, hx, cx, dy, dhy, dcy = draw(network, lengths=lengths)
    rng = np.random.default_rng(1)
    shape = *x.shape[:2], network.num_directions * network.state_size
    masks = [(rng.random(shape) > 0.3) / 0.7 for _ in range(network.num_layers - 1)]
    valid, attention = np.isfinite(dy), draw_attention(network, lengths)

    def run():
        return oracle.forward(network, parameters, x, lengths, hx, cx, masks, attention)

    def loss():
        result = run()
        total = (result.y * np.where(valid, dy, 0)).sum() + (result.hy * dhy).sum()
        return total + ((result.cy * dcy).sum() if "lstm" in mode else 0)

    got = oracle.backward(run(), dy, dhy, dcy)
    pairs = [([got.dx], [x]), ([got.dhx], [hx])]
    pairs += [([got.dcx], [cx])] if "lstm" in mode else []
    pairs += [([got.dattention], [attention])] if mode in ATTENTIVE else []
    for name in ("weights", "biases"):
        gradients, values = getattr(got.parameters, name), getattr(parameters, name)
        assert gradients.keys() == values.keys()
        pairs += [([gradients[key] for key in values], list(values.values()))]
    for gradients, arrays in pairs:
        for _ in range(5):
            steps = [rng.standard_normal(array.shape) for array in arrays]
            expected = sum(
                (gradient * step)[np.isfinite(array)].sum()
                for gradient, array, step in zip(gradients, arrays, steps, strict=True)
            )
            assert abs(slope(loss, arrays, steps) - expected) < 1e-7


def module_of(network):
    """torch's module of a network, in double."""
    import torch

    options = {"num_layers": network.num_layers, "bias": network.bias == "both"}
    options |= {"bidirectional": network.num_directions == 2, "dtype": torch.float64}
    sizes = network.input_size, network.hidden_size
    if network.mode in ("relu", "tanh"):
        return torch.nn.RNN(*sizes, nonlinearity=network.mode, **options)
    if network.projection_size:
        options["proj_size"] = network.projection_size
    return getattr(torch.nn, network.mode.upper())(*sizes, **options)


def pairs(network, module, values):
    """(torch's parameter, ours) for every tensor of a module."""
    order = {"lstm": "ifgo", "gru": "rzn"}.get(network.mode, "a")

    def stacked(source, *where):
        return np.concatenate([source[Key(*where, gate)] for gate in order])

    for layer, direction in np.ndindex(network.num_layers, network.num_directions):
        place = f"l{layer}{'_reverse' * direction}"
        if network.projection_size:
            ours = values.weights[Key(layer, direction, "projection", "p")]
            yield getattr(module, f"weight_hr_{place}"), ours
        for role, name in (("input", f"ih_{place}"), ("recurrent", f"hh_{place}")):
            where = layer, direction, role
            yield getattr(module, f"weight_{name}"), stacked(values.weights, *where)
            if network.bias == "both":
                yield getattr(module, f"bias_{name}"), stacked(values.biases, *where)


@pytest.mark.peers
@pytest.mark.parametrize("bias", ["none", "both"])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("mode, projection", [*((mode, 0) for mode in oracle.GATES), ("lstm", 2)])
def test_everything_equals_torch(mode, projection, directions, bias):
    import torch

    lengths = (5, 2, 3)
    network = Network(mode, 4, 3, 3, directions, bias, projection_size=projection)
    parameters, x, hx, cx, dy, dhy, dcy = draw(network, lengths=lengths)
    module = module_of(network)
    with torch.no_grad():
        for theirs, ours in pairs(network, module, parameters):
            theirs.copy_(torch.tensor(ours))
    tensors = [torch.tensor(np.nan_to_num(a)).requires_grad_() for a in (x, hx, cx)]
    packed = torch.nn.utils.rnn.pack_padded_sequence(tensors[0], lengths, enforce_sorted=False)
    out, state = module(packed, tuple(tensors[1:]) if mode == "lstm" else tensors[1])
    out, _ = torch.nn.utils.rnn.pad_packed_sequence(out)
    hy, cy = state if mode == "lstm" else (state, None)
    loss = (out * torch.tensor(np.nan_to_num(dy))).sum() + (hy * torch.tensor(dhy)).sum()
    if cy is not None:
        loss = loss + (cy * torch.tensor(dcy)).sum()
    loss.backward()

    run = oracle.forward(network, parameters, x, lengths, hx, cx)
    got = oracle.backward(run, dy, dhy, dcy)
    checks = [(run.y, out), (run.hy, hy), (got.dx, tensors[0].grad), (got.dhx, tensors[1].grad)]
    if cy is not None:
        checks += [(run.cy, cy), (got.dcx, tensors[2].grad)]
    checks += [(ours, theirs.grad) for theirs, ours in pairs(network, module, got.parameters)]
    for ours, theirs in checks:
        np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=0, atol=1e-12)


# Worked offsets of MIOpen's weight buffer: (layer, direction, role, gate) -> element.
OFFSETS = [
    (
        Network("lstm", 3, 4, 2),
        304,
        {
            (0, 0, "input", "g"): (36, 252),
            (0, 0, "recurrent", "o"): (80, 264),
            (1, 0, "input", "f"): (128, 276),
            (1, 0, "recurrent", "g"): (224, 300),
        },
    ),
    (
        Network("gru", 3, 4, 2, 2),
        552,
        {
            (0, 1, "input", "z"): (36, 468),
            (0, 1, "recurrent", "n"): (152, 500),
            (1, 0, "recurrent", "r"): (376, 532),
            (1, 1, "input", "r"): (296, 520),
        },
    ),
    (
        Network("gru", 4, 4, 2, 2, skip_input=True),
        480,
        {
            (0, 1, "recurrent", "z"): (48, 420),
            (1, 0, "input", "r"): (128, 436),
            (1, 1, "input", "n"): (256, 452),
            (1, 1, "recurrent", "n"): (368, 476),
        },
    ),
]


@pytest.mark.parametrize(("network", "size", "offsets"), OFFSETS)
def test_offsets_equal_worked_examples(network, size, offsets):
    assert oracle.buffer_size(network) == size
    for where, expected in offsets.items():
        key = Key(*where)
        assert (oracle.weight_offset(network, key), oracle.bias_offset(network, key)) == expected


@pytest.mark.parametrize("skip_input", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("directions", [1, 2])
def test_pack_inverts_unpack(directions, bias, skip_input):
    network = Network("lstm", 3, 3, 3, directions, "both" if bias else "none", skip_input)
    buffer = np.arange(oracle.buffer_size(network), dtype=float)
    assert np.array_equal(oracle.pack(network, oracle.unpack(network, buffer)), buffer)


@pytest.mark.parametrize("bias", ["none", "input", "recurrent", "both"])
def test_pack_inverts_unpack_in_the_order_of_cudnn(bias):
    network = Network("lstm", 3, 4, 2, 2, bias, projection_size=2, vendor="cudnn")
    buffer = np.arange(oracle.buffer_size(network), dtype=float)
    assert np.array_equal(oracle.pack(network, oracle.unpack(network, buffer)), buffer)


def test_clipping_and_idle_sequences_leave_the_final_cell_state_as_it_is():
    network = Network("lstm", 1, 1, clip=(-0.5, 0.5), idle_keeps_state=True)
    run = oracle.forward(
        network,
        oracle.Parameters.zeros(network),
        np.zeros((1, 2, 1)),
        [1, 0],
        hx=np.full((1, 2, 1), 0.25),
        cx=np.full((1, 2, 1), 3.0),
    )
    assert run.cy.ravel().tolist() == [0.25, 3.0]  # half of the clipped state, and the idle one
    assert run.hy.ravel().tolist() == [0.5 * np.tanh(0.25), 0.25]


def test_kink_distance_is_that_of_the_closest_unit():
    network = Network("relu", 1, 3, bias="none")
    parameters = oracle.Parameters.zeros(network)
    parameters.weights[Key(0, 0, "input", "a")][:] = [[0.25], [-2.0], [0.0]]
    run = oracle.forward(network, parameters, np.ones((1, 1, 1)), [1])
    assert run.kink_distance() == 0.25
