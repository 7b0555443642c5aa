"""Cells whose activations are chosen, masks on what recurrent matrices multiply, and input products
that are given, in double: against the reference to rounding, and finite differences."""

from __future__ import annotations

import pytest
from cases import Case, expected
from harness import summands
from oracle import EVERY_GATES
from oracle_network import ACTIVATED
from test_gradients import DoubleRun, assert_slopes, double_case
from tolerance import assert_close

from miopy import backends
from miopy.core.backend import Backend
from miopy.core.cells import ACTIVATIONS, CELLS
from miopy.core.config import RNNConfig
from miopy.errors import BadParam


@pytest.fixture
def device(backend: str) -> Backend:
    return backends.get()


def rotated(cell: str, by: int) -> tuple[str, ...]:
    """An activation for each that a cell takes; over all `by`, every one everywhere."""
    return tuple(ACTIVATIONS[(by + n) % len(ACTIVATIONS)] for n in range(len(ACTIVATED[cell])))


def assert_reference(case: Case, device: Backend) -> None:
    reference = expected(case)
    for name, values in DoubleRun(case, reference.data, device).results().items():
        assert_close(name, values, reference.training[name], "float64", summands(case, name))


@pytest.mark.parametrize("by", range(len(ACTIVATIONS)))
@pytest.mark.parametrize("cell", ACTIVATED)
def test_any_activations_equal_the_reference(cell, by, device):
    options = {"activations": rotated(cell, by), "num_layers": 2, "flips_update": "gru" in cell}
    assert_reference(double_case(cell, 2, False, **options), device)


@pytest.mark.parametrize("cell", ACTIVATED)
def test_gradients_of_any_activations_equal_finite_differences(cell, device):
    options = {"activations": rotated(cell, 1), "num_layers": 2, "flips_update": "gru" in cell}
    assert_slopes(double_case(cell, 2, False, **options), device)


@pytest.mark.parametrize("null", [(), ("hx", "cx", "dhy", "dhx")], ids=["states", "no states"])
@pytest.mark.parametrize("cell", EVERY_GATES)
def test_a_recurrent_mask_equals_the_reference(cell, null, device):
    options = {"masked": True, "num_layers": 2, "null": frozenset(null)}
    assert_reference(double_case(cell, 2, False, **options), device)


@pytest.mark.parametrize("cell", ["lstm", "gru", "reset_before_gru"])
def test_gradients_under_a_recurrent_mask_equal_finite_differences(cell, device):
    assert_slopes(double_case(cell, 2, False, masked=True, num_layers=2), device)


def test_a_recurrent_mask_is_on_what_was_projected(device):
    options = {"masked": True, "num_layers": 2, "projection_size": 2}
    assert_reference(double_case("peephole_lstm", 2, False, **options), device)


@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("cell", EVERY_GATES)
def test_given_products_equal_the_reference(cell, num_directions, device):
    features = num_directions * len(EVERY_GATES[cell]) * 3
    case = Case(
        cell,
        (3, 0, 4, 1),
        features,
        3,
        num_layers=2,
        num_directions=num_directions,
        dtype="float64",
        layout="batch_padded",
        given_products=True,
    )
    assert_reference(case, device)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("lstm", 1, 1, {"activations": ("tanh",)}), "activations.*must have 0 names"),
        (("general_gru", 1, 1, {"activations": ("tanh",)}), "activations.*must have 3 names"),
        (("general_vanilla", 1, 1, {"activations": ("cube",)}), "activations.*must have 1 names"),
        (("gru", 1, 1, {"flips_update": True}), "flips_update.*must be False for gru"),
        (("lstm", 4, 2, {"given_products": True}), "input_size.*must be 8"),
        (("lstm", 1, 1, {"given_products": True, "skip_input": True}), "given_products.*False"),
        (("lstm", 1, 1, {"skip_input": "no"}), "`skip_input` must be True or False, got 'no'"),
        (("lstm", 1, 1, {"dropout": 0.5}), "`dropout` must be True or False, got 0.5"),
        (("leaky_relu", 1, 1, {"slope": "0"}), "`slope` must be a finite number, got '0'"),
        (("leaky_relu", 1, 1, {"slope": 10**400}), "`slope` must be a finite number, got 1000"),
    ],
)
def test_a_configuration_is_refused(arguments, rule):
    *sizes, options = arguments
    with pytest.raises(BadParam, match=rule):
        RNNConfig(*sizes, **options)


def test_general_cells_are_not_for_the_hosts_own_kernels():
    """Those know a cell's activations when they are compiled."""
    assert not any(CELLS[cell].is_plain for cell in ACTIVATED)
