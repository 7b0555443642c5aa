"""Known failures of RNN libraries, group E: determinism and numerics.

Not here: E5's batch-invariant mode is not offered, so that rows of different batches agree within
the tolerance and not bit for bit; E9's race check needs a GPU.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import SEQ_PADDED, Case, Data, expected
from harness import Run, assert_results, check
from oracle import GATES

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("mode", GATES)
def test_E1_fifty_repetitions_give_the_same_bits(backend, mode):
    """pytorch/pytorch#35661: backward was not deterministic.

    The emulated device's threads have one order, and graphs from the second call on; other orders
    are in test_device_persistent.py.
    """
    run = Run(Case(mode, (9, 8, 8, 3), 33, 40, 2, 2, dropout=0.2))
    first = run.training()
    for _ in range(3 if backend == "emulated" else 50):
        for name, values in run.training().items():
            assert np.array_equal(values, first[name]), name


@pytest.mark.parametrize("batch", [10, 100, 101, 583, 2000])
def test_E2_half_precision_at_any_batch(batch):
    """pytorch/pytorch#177834: far from the CPU above a batch of 100."""
    check(Case("lstm", (3,) * batch, 16, 16, 2, 2, dtype="float16"))


@pytest.mark.parametrize("mode", ["tanh", "lstm", "gru"])
def test_E3_half_precision_over_2000_steps(mode):
    """ROCm/hip-ep: half LSTM gave garbage audio; the cell state must not be half."""
    check(Case(mode, (2000, 1999), 8, 16, dtype="float16"))


@pytest.mark.parametrize("mode", ["tanh", "lstm", "gru"])
def test_E4_float32_over_500_steps(mode):
    """keras-team/keras#19254: float32 results differed too much between devices."""
    check(Case(mode, (500, 400), 16, 32, 2, 2))


def one_sequence(data, row):
    """The data of one sequence of a batch."""
    pick = {
        name: getattr(data, name)[:, row : row + 1]
        for name in data.__dataclass_fields__
        if name != "w" and getattr(data, name) is not None
    }
    return Data(w=data.w, **pick)


@pytest.mark.parametrize("mode", GATES)
def test_E5_a_row_of_a_batch_agrees_with_a_run_of_its_own(mode):
    """tensorflow/tensorflow#11610: results depended on the batch size."""
    case = Case(mode, (7,) * 64, 9, 10, 2, 2)
    results = Run(case).training()
    alone = dataclasses.replace(case, lengths=(7,))
    for row in (0, 31, 63):
        got = Run(alone, one_sequence(expected(case).data, row)).training()
        del got["dw"]
        reference = {name: results[name][:, row : row + 1] for name in got}
        assert_results(alone, got, reference)


@pytest.mark.parametrize("mode", GATES)
def test_E6_chunks_with_carried_states_equal_the_whole(mode):
    """soumith/cudnn.torch#278: 20 runs of one step differed from one run of 20 steps."""
    whole = Case(mode, (20, 20), 5, 6, 2)
    data, chunk = expected(whole).data, dataclasses.replace(whole, lengths=(1, 1))
    reference, runs = expected(whole).training, []
    for step in range(20):
        run = Run(
            chunk, dataclasses.replace(data, x=data.x[step : step + 1], dy=data.dy[step : step + 1])
        )
        run.inputs = {}
        if runs:
            for state in ("h", "c") if mode == "lstm" else ("h",):
                run.buffers[f"{state}x"].array[:] = runs[-1].buffers[f"{state}y"].array
        run.forward_training()
        runs.append(run)
    dw = 0
    for run, later in zip(runs[::-1], [None, *runs[:0:-1]], strict=True):
        if later:
            for state in ("h", "c") if mode == "lstm" else ("h",):
                run.buffers[f"d{state}y"].array[:] = later.buffers[f"d{state}x"].array
        run.backward_data()
        dw = dw + run.backward_weights()["dw"].astype(np.float64)
    got = {
        "y": np.concatenate([run.rows.gather(run.buffers["y"].array) for run in runs]),
        "dx": np.concatenate([run.rows.gather(run.buffers["dx"].array) for run in runs]),
        "hy": runs[-1].buffers["hy"].array,
        "dhx": runs[0].buffers["dhx"].array,
        "dw": dw,
    }
    assert_results(whole, got, reference)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 64, 128, 13, 31, 61, 127])
@pytest.mark.parametrize("mode", GATES)
def test_E7_powers_of_two_and_primes(mode, size):
    """ROCm/MIOpen#1177 and early releases: some sizes gave wrong results."""
    check(Case(mode, (4, 3, 3), size, size, 2))


E8_BATCHES = (17, 17, 16, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5)


@pytest.mark.parametrize("mode", GATES)
def test_E8_odd_sizes_with_dropout_and_uneven_batches(mode):
    """ROCm/tensorflow-upstream#1110: GRU with dropout, H = 67, W = 13, L = 3."""
    lengths = tuple(sum(size > row for size in E8_BATCHES) for row in range(17))
    check(Case(mode, lengths, 13, 67, 3, dropout=0.5, seed=5))


def test_E9_lstm_of_200_units_over_300_steps():
    """lmnt-com/haste#17: gradients were wrong on some devices."""
    check(Case("lstm", (300,) * 16, 32, 200))


@pytest.mark.parametrize("mode", GATES)
def test_E10_gradients_of_three_bidirectional_layers(mode):
    """apache/mxnet#17898: dx and middle layers' gradients were wrong."""
    check(Case(mode, (4, 4, 3), 5, 4, 3, 2, seed=10))


@pytest.mark.parametrize("mode", GATES)
def test_E11_initial_states_of_every_layer_count(mode):
    """pytorch/pytorch#94754: tests used zero states and did not see wrong slices."""
    case = Case(mode, (4, 2), 3, 4, 3, 2, seed=11)
    run, reference = Run(case), expected(case).training
    for index in range(6):
        for name in ("hx", "cx") if mode == "lstm" else ("hx",):
            state = run.buffers[name].array[index]
            kept = state.copy()
            run.inputs = {}
            state[:] = 0
            got = run.forward_training()["y"]
            state[:] = kept
            assert np.abs(got - reference["y"]).max() > 1e-4, f"{name}[{index}] has no effect"


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize("null", [("dhy", "dcy"), ("dhy",), ("dcy",)])
def test_E12_missing_output_gradients_are_zeros(mode, null):
    """chainer/chainer#2505: an output that did not feed the loss had garbage for a gradient."""
    check(Case(mode, num_layers=2, num_directions=2, null=frozenset(null)))


@pytest.mark.parametrize("mode", GATES)
def test_E12_only_the_final_states_feed_the_loss(mode):
    case = Case(mode, num_layers=2, num_directions=2)
    data = dataclasses.replace(expected(case).data)
    run = Run(case, dataclasses.replace(data, dy=np.zeros_like(data.dy)))
    results = run.training()
    assert np.isfinite(results["dx"]).all()
    assert results["dx"].any()


@pytest.mark.parametrize("layout", ["packed", SEQ_PADDED])
@pytest.mark.parametrize("mode", GATES)
def test_E13_two_backward_runs_from_one_reserve_add_up(mode, layout):
    """pytorch/pytorch#1532: the gradients of a second head were wrong."""
    case = Case(mode, (4, 3), num_layers=2, num_directions=2, layout=layout)
    run, reference = Run(case), expected(case).training
    run.forward_training()
    run.inputs = {}
    names = [name for name in ("dy", "dhy", "dcy") if mode == "lstm" or name != "dcy"]
    totals = {}
    for share in (0.25, 0.75):  # two heads whose gradients add up to the case's
        kept = {name: run.buffers[name].array.copy() for name in names}
        for name in names:
            run.buffers[name].array[:] *= np.float32(share)
        results = run.backward_data() | run.backward_weights()
        for name, values in results.items():
            totals[name] = totals.get(name, 0) + values.astype(np.float64)
        for name, values in kept.items():
            run.buffers[name].array[:] = values
    assert_results(case, totals, reference)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("mode", ["tanh", "lstm", "gru"])
def test_E15_small_odd_sizes_over_many_steps(mode, dtype):
    """uxlfoundation/oneDNN#838: wrong at I = 25, T = 209, H = 10."""
    check(Case(mode, (209, 208, 1), 25, 10, 1, 2, dtype=dtype))
