"""tools/gpu_limits.py against figures worked out by hand and against itself."""

from __future__ import annotations

import gpu_limits
import pytest
from bench_shapes import INFERENCE, MODES, STEP, Shape
from gpu_limits import Machine, Recurrence

H200 = Machine()


@pytest.mark.parametrize(
    ("gates", "hidden_size", "batch", "backward", "bound", "estimate"),
    [  # microseconds of a step of 16 bits
        (4, 64, 8, False, 0.10, 0.25),
        (4, 256, 16, False, 0.23, 0.49),
        (4, 768, 16, False, 0.23, 0.88),
        (4, 1024, 64, False, 0.52, 1.80),
        (4, 2048, 64, False, 2.07, 6.70),
        (4, 4096, 128, False, 16.05, 29.07),
        (3, 1024, 32, False, 0.23, 1.11),
        (3, 2816, 1, False, 0.43, 1.54),
        (1, 1760, 128, False, 0.75, 2.47),
        (4, 1024, 16, True, 0.43, 1.25),
        (3, 2816, 32, True, 1.47, 5.17),
        (4, 4096, 64, True, 13.65, 19.80),
    ],
)
def test_a_step_takes_what_the_design_says(gates, hidden_size, batch, backward, bound, estimate):
    of = Recurrence(gates, hidden_size, batch, "bfloat16", backward)
    found = gpu_limits.step(of, H200)
    assert (round(found.bound * 1e3, 2), round(found.estimate * 1e3, 2)) == (bound, estimate)


def test_one_block_s_step_by_hand():
    """8 rows of 64 units of LSTM: 256 * 64 * 8 multiply-adds are hidden behind nothing."""
    cycles = 400 + 2 * 256 * 64 * 8 / 2560
    found = gpu_limits.step(Recurrence(4, 64, 8, "float16", False), H200)
    assert found.estimate == pytest.approx(cycles / 1.98e9 * 1e3)
    assert found.bound == pytest.approx(200 / 1.98e9 * 1e3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", gpu_limits.SLOWER)
def test_the_bound_is_below_the_estimate(dtype, mode):
    for cell in ("lstm", "gru", "relu"):
        for hidden_size, batch in ((32, 1), (512, 64), (1024, 16), (2816, 32), (4096, 128)):
            limit = gpu_limits.of(Shape(cell, hidden_size, batch, 25), dtype, mode)
            assert 0 < limit.bound < limit.estimate


def test_layers_and_products_add_up():
    one, two = (
        gpu_limits.of(Shape("lstm", 512, 16, 100, num_layers=layers), "float16", INFERENCE)
        for layers in (1, 2)
    )
    assert two.estimate == pytest.approx(2 * one.estimate)
    shape = Shape("lstm", 512, 16, 100)
    flops = shape.flops(INFERENCE) / 2  # the half that is no recurrence
    products = gpu_limits.products_ms(shape, "float16", INFERENCE, H200)
    assert products == pytest.approx(flops / 700e12 * 1e3)
    step = gpu_limits.products_ms(shape, "float16", STEP, H200)
    assert step == pytest.approx(4 * products)


def test_what_was_measured_takes_the_place_of_what_was_published():
    machine = gpu_limits.calibrated({"l2_rate": 5e12, "grid_exchange_us": 1.0, "other": 1})
    assert machine.l2_rate == 5e12
    assert machine.grid_cycles == pytest.approx(450 + 1980)
    assert machine.cluster_cycles == H200.cluster_cycles
    assert gpu_limits.calibrated({}) == H200
