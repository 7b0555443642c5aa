"""Directions, stacks and parameters in tensors of their own: the core against the reference."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from oracle_network import BIASES, EVERY_GATES, Network
from tensor_run import MARK, TensorRun, Topology, draw, expected
from tensors import IN_FIRST, OUT_FIRST
from tolerance import assert_close

from miopy import backends
from miopy.core.backend import Backend
from miopy.core.config import RNNConfig
from miopy.core.sequence import from_lengths
from miopy.errors import BadParam

DIRECTIONS = {
    "left_to_right": {},
    "right_to_left": {"backwards": True},
    "concat": {"num_directions": 2},
    "sum": {"num_directions": 2, "sums": True},
}
NOTATIONS = (IN_FIRST, OUT_FIRST)


@pytest.fixture
def device(backend: str) -> Backend:
    return backends.get()


def network(mode: str, direction: str = "left_to_right", **options: object) -> Network:
    """Three independent layers, whose input matrices have one size; it fills no vector."""
    options = {"num_layers": 3, "independent": True, "bias": "merged"} | options
    state_size = options.get("projection_size", 0) or 6
    options = {"input_size": state_size} | DIRECTIONS[direction] | options
    return Network(mode, hidden_size=6, **options)


def assert_equals_the_reference(
    topology: Topology, device: Backend, null: frozenset[str] = frozenset()
) -> None:
    """Of results that have memory."""
    data = draw(topology)
    values, parameters = expected(topology, data, null)
    run = TensorRun(topology, data, device, null)
    run.forward()
    run.backward()
    summands = 20 * sum(topology.lengths)
    for name, value in values.items():
        if name not in null and (run.config.record.has_cell_state or "c" not in name):
            assert_close(name, run.value(name), value, topology.dtype, summands)
    got = run.gradients.get()
    for kind in ("weights", "biases"):
        for key, value in getattr(parameters, kind).items():
            found = getattr(got, kind)[key]
            assert_close(f"gradient of {key}", found, value, topology.dtype, summands)
    assert (run.gradients.gaps() == MARK).all(), "gradients were written behind their rows"


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mode", EVERY_GATES)
def test_every_cell_runs_in_every_direction(mode, direction, device):
    assert_equals_the_reference(Topology(network(mode, direction)), device)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("mode", ["tanh", "lstm", "lbr_augru", "reset_before_gru"])
def test_every_type_runs(mode, dtype, device):
    assert_equals_the_reference(Topology(network(mode, "sum"), dtype=dtype), device)


@pytest.mark.parametrize("notations", list(itertools.product(NOTATIONS, repeat=3)))
@pytest.mark.parametrize("mode", ["lstm", "gru", "augru"])
def test_matrices_lie_either_way(mode, notations, device):
    topology = Topology(network(mode, "concat", num_layers=2), notations=notations)
    assert_equals_the_reference(topology, device)


@pytest.mark.parametrize("projection_size", [3, 9])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mode", ["lstm", "peephole_lstm"])
def test_projections_run(mode, direction, projection_size, device):
    """Also to more features than there are units."""
    of = network(mode, direction, projection_size=projection_size, num_layers=2)
    assert_equals_the_reference(Topology(of), device)
    of = replace(of, num_layers=1, projection_size=40)
    assert_equals_the_reference(Topology(of, dtype="float32"), device)


@pytest.mark.parametrize("mode", ["relu", "lstm", "gru"])
def test_units_fill_vectors(mode, device):
    """Sizes at which products run in blocks and read in place."""
    sizes = {"input_size": 70, "hidden_size": 70, "num_layers": 2}
    of = replace(network(mode, "sum"), **sizes)
    assert_equals_the_reference(Topology(of, lengths=(3,) * 37, dtype="float32"), device)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("mode", ["lstm", "gru", "lbr_augru"])
def test_biases_lie_in_one_tensor(mode, bias, device):
    of = network(mode, "concat", num_layers=1, input_size=4, bias=bias)
    assert_equals_the_reference(Topology(of), device)


def test_a_layer_may_read_both_directions_of_tensors_too(device):
    of = network("gru", "concat", independent=False, input_size=12)
    assert_equals_the_reference(Topology(of), device)


@pytest.mark.parametrize("mode", ["leaky_relu", "lstm", "gru", "augru"])
def test_states_may_be_null_and_sequences_idle(mode, device):
    topology = Topology(network(mode, "sum"), lengths=(2, 0, 3))
    for null in ({"hx", "cx", "dhy", "dcy"}, {"hy", "cy", "dhx", "dcx"}, {"hx"}):
        assert_equals_the_reference(topology, device, frozenset(null))


INITIAL = [
    *itertools.product(["tanh", "lstm", "peephole_lstm"], DIRECTIONS, [0], [3, 15]),
    *itertools.product(["lstm", "peephole_lstm"], ["concat", "sum"], [4], [3, 15]),
]


@pytest.mark.parametrize(("mode", "direction", "projection_size", "recurrent_size"), INITIAL)
def test_one_step_takes_initial_states_of_another_size(
    mode, direction, projection_size, recurrent_size, device
):
    sizes = {"projection_size": projection_size, "recurrent_size": recurrent_size}
    topology = Topology(network(mode, direction, **sizes), lengths=(1, 0, 1, 1))
    assert_equals_the_reference(topology, device)
    for null in ({"hx", "cx"}, {"dhx", "dcx"}):
        assert_equals_the_reference(topology, device, frozenset(null))


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("mode", ["peephole_lstm", "gru", "reset_before_gru"])
def test_gradients_are_added_to_what_there_is(mode, dtype, notation, device):
    notations = NOTATIONS[0], NOTATIONS[1], notation
    of = network(mode, "sum", projection_size=4 if "lstm" in mode else 0)
    topology = Topology(of, dtype=dtype, notations=notations)
    data = draw(topology)
    run = TensorRun(topology, data, device)
    run.forward()
    run.backward()
    once = run.gradients.get()
    run.gradients.set(data.parameters)
    run.backward(accumulate=True)
    assert (run.gradients.gaps() == MARK).all()
    got = run.gradients.get()
    for kind in ("weights", "biases"):
        for key, before in getattr(data.parameters, kind).items():
            total = before + getattr(once, kind)[key]
            assert_close(f"gradient of {key}", getattr(got, kind)[key], total, dtype, 4)


@pytest.mark.parametrize("mode", ["tanh", "lstm", "augru"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_inference_is_training_without_a_reserve(direction, mode, device):
    topology = Topology(network(mode, direction), dtype="float32")
    run = TensorRun(topology, draw(topology), device)
    run.forward()
    names = ("y", "hy", "cy") if run.config.record.has_cell_state else ("y", "hy")
    training = {name: run.value(name) for name in names}
    for name in names:
        run.arrays[name][...] = np.nan
    run.forward(training=False)
    for name in names:
        assert np.array_equal(run.value(name), training[name]), name


REFUSED = [
    ("lstm", {"direction": "both"}, "direction.*must be one of left_to_right"),
    ("lstm", {"direction": "sum", "num_layers": 2}, "direction.*must not be sum"),
    ("gru", {"recurrent_size": 3}, "recurrent_size.*must be 0 of gru"),
    ("augru", {"recurrent_size": 3}, "recurrent_size.*must be 0 of augru"),
    ("lstm", {"recurrent_size": 3, "idle_keeps_state": True}, "recurrent_size.*may be kept"),
    ("lstm", {"recurrent_size": -1}, "recurrent_size.*must not be negative"),
]


@pytest.mark.parametrize(("cell", "fields", "rule"), REFUSED)
def test_a_configuration_is_refused(cell, fields, rule):
    with pytest.raises(BadParam, match=rule):
        RNNConfig(cell, 4, 4, **fields)


def test_two_steps_take_no_initial_states_of_another_size(device):
    topology = Topology(network("lstm", recurrent_size=3), lengths=(2,))
    data = draw(replace(topology, lengths=(1,)))
    run = TensorRun(replace(topology, lengths=(1,)), data, device)
    run.sequence = from_lengths((2,))
    with pytest.raises(BadParam, match=r"recurrent_size.*sequences of more than one step"):
        run.forward()
