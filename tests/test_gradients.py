"""The passes in double: gradients against finite differences of the passes themselves, and
everything against the float64 reference, to rounding.

MIOpen has no double, so these tests call the core. What they prove about cells and walks holds for
the other types, whose kernels are built from the same text.
"""

from __future__ import annotations

import dataclasses

import cases
import numpy as np
import pytest
from cases import Case, Data, expected
from harness import summands
from oracle import EVERY_GATES
from oracle_network import BIASES
from tolerance import assert_close

from miopy import backends
from miopy.core import sequence as sequences
from miopy.core.backend import Backend
from miopy.core.backward_data import backward_data
from miopy.core.backward_weights import backward_weights
from miopy.core.config import Clip, RNNConfig
from miopy.core.forward import Rows, forward
from miopy.core.placement import InBuffer
from miopy.core.plan import plan
from miopy.layouts import MIOPEN


@pytest.fixture
def device(backend: str) -> Backend:
    return backends.get()


class DoubleRun:
    """The core's passes over a case of type float64 in a padded layout, on NaN-filled memory."""

    def __init__(self, case: Case, data: Data, backend: Backend) -> None:
        self.case, self.data, self.rows = case, data, cases.Rows(case)
        self.sequence = sequences.from_lengths(case.lengths)
        config = RNNConfig(
            cell=case.mode,
            input_size=case.input_size,
            hidden_size=case.hidden_size,
            num_layers=case.num_layers,
            direction="concat" if case.num_directions == 2 else "left_to_right",
            bias=case.network.bias,
            skip_input=case.skip_input,
            dtype=case.dtype,
            projection_size=case.projection_size,
            clip=case.clip and Clip(*case.clip),
            slope=case.slope if case.mode == "leaky_relu" else None,
            activations=case.activations,
            flips_update=case.flips_update,
            recurrent_mask=case.masked,
            given_products=case.given_products,
        )
        self.plan = plan(config, self.sequence.rows, training=True, padded=True)
        self.common = (self.plan, backend, self.sequence)
        self.arrays = {
            "x": np.full((self.rows.count, case.input_size), np.nan),
            "dy": np.full((self.rows.count, case.output_size), np.nan),
            "workspace": np.full(self.plan.workspace.nbytes, 255, np.uint8),
            "reserve": np.full(self.plan.reserve.nbytes, 255, np.uint8),
        }
        if config.record.attention:
            self.arrays["attention"] = np.full((self.rows.count, 1), np.nan)
            self.arrays["dattention"] = np.full((self.rows.count, 1), np.nan)
        self.attention = ("attention",) * config.record.attention
        self.mask = ("recurrent_mask",) * case.masked
        for name in ("x", "dy", *self.attention):
            self.rows.scatter(getattr(data, name), self.arrays[name])
        for name in ("w", "hx", "cx", "dhy", "dcy", *self.mask):
            self.arrays[name] = getattr(data, name)
        shapes = {"y": "dy", "dx": "x", "dw": "w", "hy": "hx", "cy": "cx", "dhx": "hx", "dcx": "cx"}
        for name, like in shapes.items():
            self.arrays[name] = np.full_like(self.arrays[like], np.nan)
        layout = sequences.SEQ_MAJOR if case.layout == cases.SEQ_PADDED else sequences.BATCH_MAJOR
        self.index = self.sequence.rows_of(layout, case.steps)

    @property
    def has_cell_state(self) -> bool:
        return self.plan.config.record.has_cell_state

    def addresses(self, *names: str) -> dict[str, int | None]:
        null = self.case.null
        return {name: None if name in null else self.arrays[name].ctypes.data for name in names}

    def row_addresses(self, *names: str) -> dict[str, Rows]:
        return {name: Rows(self.arrays[name].ctypes.data, self.index) for name in names}

    def forward(self) -> dict[str, np.ndarray]:
        """y in canonical form, hy, and cy if there is one."""
        forward(
            *self.common,
            weights=InBuffer(MIOPEN, self.arrays["w"].ctypes.data),
            **self.row_addresses("x", "y", *self.attention),
            **self.addresses("hx", "cx", "hy", "cy", *self.mask),
            **self.addresses("workspace", "reserve"),
        )
        return self.outputs("y", "hy", *("cy",) * self.has_cell_state)

    def results(self) -> dict[str, np.ndarray]:
        """All three passes."""
        outputs, spaces = self.forward(), self.addresses("workspace", "reserve")
        weights, dw = (InBuffer(MIOPEN, self.arrays[name].ctypes.data) for name in ("w", "dw"))
        states = self.addresses("hx", "cx")
        dattention = ["d" + name for name in self.attention]
        backward_data(
            *self.common,
            weights=weights,
            **self.row_addresses("dy", "dx", *self.attention, *dattention),
            **states,
            **self.addresses(*self.mask, "dhy", "dcy", "dhx", "dcx"),
            **spaces,
        )
        backward_weights(*self.common, dw=dw, hx=states["hx"], **self.row_addresses("x"), **spaces)
        names = ["dx", "dhx", "dw"] + ["dcx"] * self.has_cell_state + dattention
        return outputs | self.outputs(*names)

    def outputs(self, *names: str) -> dict[str, np.ndarray]:
        """Those that were asked for; what has rows per step in canonical form."""
        packed = ("y", "dx", "dattention")
        return {
            name: self.rows.gather(self.arrays[name]) if name in packed else self.arrays[name]
            for name in names
            if name not in self.case.null
        }


def double_case(mode, num_directions, skip_input, **options):
    options = {"lengths": (3, 0, 4, 1), "num_layers": 3, "layout": cases.BATCH_PADDED} | options
    sizes = {"input_size": 3 if skip_input else 4, "hidden_size": 3}
    return Case(
        mode,
        num_directions=num_directions,
        skip_input=skip_input,
        dtype="float64",
        **sizes,
        **options,
    )


@pytest.mark.parametrize("layout", [cases.SEQ_PADDED, cases.BATCH_PADDED])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("skip_input", [False, True])
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", EVERY_GATES)
def test_double_passes_equal_the_reference_to_rounding(
    mode, num_directions, skip_input, bias, layout, device
):
    for null in (frozenset(), frozenset({"hx", "cx", "dhy"}), frozenset({"cx", "dcy", "dhx"})):
        case = double_case(mode, num_directions, skip_input, bias=bias, layout=layout, null=null)
        reference = expected(case)
        for name, values in DoubleRun(case, reference.data, device).results().items():
            assert_close(name, values, reference.training[name], "float64", summands(case, name))


def loss_of(case: Case, data: Data, device: Backend) -> float:
    """sum(y dy) + sum(hy dhy) + sum(cy dcy)"""
    results = DoubleRun(case, data, device).forward()
    total = (results["y"] * data.dy).sum() + (results["hy"] * data.dhy).sum()
    return total + ((results["cy"] * data.dcy).sum() if "cy" in results else 0.0)


@pytest.mark.parametrize("skip_input", [False, True])
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", EVERY_GATES)
def test_gradients_equal_finite_differences(mode, num_directions, skip_input, device):
    case = double_case(mode, num_directions, skip_input, lengths=(2, 0, 3), num_layers=2)
    assert_slopes(case, device)


@pytest.mark.parametrize("slope", [-0.5, 0.0, 2.0])
def test_gradients_of_leaky_relu_equal_finite_differences_at_any_slope(slope, device):
    """A negative one gives positive states on both sides of zero."""
    assert_slopes(double_case("leaky_relu", 2, False, num_layers=2, slope=slope), device)


@pytest.mark.parametrize("clip", [None, (-0.25, 0.5)], ids=["free", "clipped"])
@pytest.mark.parametrize("projection_size", [0, 2])
@pytest.mark.parametrize("mode", ["lstm", "peephole_lstm"])
def test_gradients_of_lstms_equal_finite_differences(mode, projection_size, clip, device):
    options = {"projection_size": projection_size, "clip": clip, "lengths": (2, 0, 3)}
    assert_slopes(double_case(mode, 2, False, num_layers=2, **options), device)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("clip", [None, (-0.25, 0.5)], ids=["free", "clipped"])
@pytest.mark.parametrize("projection_size", [0, 2])
def test_peepholes_equal_the_reference_to_rounding(projection_size, clip, bias, device):
    options = {"projection_size": projection_size, "clip": clip, "bias": bias}
    case = double_case("peephole_lstm", 2, False, **options)
    reference = expected(case)
    for name, values in DoubleRun(case, reference.data, device).results().items():
        assert_close(name, values, reference.training[name], "float64", summands(case, name))


def assert_slopes(case: Case, device: Backend) -> None:
    """Gradients of every input are what small steps in random directions make of the loss, each of
    which moves all elements; a wrong one shows in all of them."""
    data = expected(case).data
    gradients = DoubleRun(case, data, device).results()
    rng, eps = np.random.default_rng(0), 1e-6
    inputs = ("x", "w", "hx", "cx", "attention")
    for name in (name for name in inputs if "d" + name in gradients):
        array, gradient = getattr(data, name), gradients["d" + name]
        for _ in range(3):
            step = rng.standard_normal(array.shape)
            above, below = (
                loss_of(case, dataclasses.replace(data, **{name: array + shift * step}), device)
                for shift in (eps, -eps)
            )
            slope = (above - below) / (2 * eps)
            assert abs((gradient * step).sum() - slope) < 1e-7, f"d{name}"
