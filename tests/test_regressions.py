"""Shapes and situations in which RNN libraries have been wrong before."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import BATCH_PADDED, PACKED, PADDED, SEQ_PADDED, STATE_POINTERS, Case, expected
from harness import Run, assert_results, check
from oracle import GATES

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", GATES)
def test_a_single_row(mode, num_directions):
    check(Case(mode, (1,), 8, 16, num_directions=num_directions))


@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", GATES)
def test_one_step_of_a_large_batch(mode, num_directions):
    check(Case(mode, (1,) * 17, num_layers=2, num_directions=num_directions))


@pytest.mark.parametrize("mode", GATES)
def test_batches_of_five_then_two(mode):
    check(Case(mode, (2, 2, 1, 1, 1), num_layers=2, num_directions=2))


@pytest.mark.parametrize("mode", GATES)
def test_a_batch_that_drops_to_one(mode):
    check(Case(mode, (6, 1, 1, 1), num_layers=2, num_directions=2))


@pytest.mark.parametrize("mode", GATES)
def test_three_bidirectional_layers(mode):
    check(Case(mode, num_layers=3, num_directions=2))


@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", GATES)
def test_skip_input_of_several_layers(mode, num_directions):
    check(Case(mode, (4, 4, 2), 5, 5, 3, num_directions, skip_input=True))


@pytest.mark.parametrize("input_size", [1, 3])
@pytest.mark.parametrize("mode", GATES)
def test_one_hidden_unit(mode, input_size):
    check(Case(mode, (4, 2), input_size, 1, 2, 2))


@pytest.mark.parametrize("mode", GATES)
def test_all_states_null(mode):
    check(Case(mode, num_layers=2, num_directions=2, null=frozenset(STATE_POINTERS)))


@pytest.mark.parametrize("kept", ["hy", "cy", "hx", "cx", "dhy", "dcy", "dhx", "dcx"])
def test_a_single_state_given(kept):
    check(Case("lstm", num_layers=2, null=frozenset(STATE_POINTERS) - {kept}))


@pytest.mark.parametrize("mode", GATES)
def test_more_than_65536_rows(mode):
    check(Case(mode, (17,) * 3856, 2, 2, num_directions=2))


@pytest.mark.parametrize("mode", GATES)
def test_many_steps_and_layers_with_dropout(mode):
    check(Case(mode, (40, 33, 32, 7), 5, 6, 3, dropout=0.5, seed=11))


TIES = (3, 5, 3, 5, 1)
WITH_ZERO = (3, 0, 5, 5, 0, 1)


@pytest.mark.parametrize("lengths", [TIES, WITH_ZERO])
@pytest.mark.parametrize("layout", [SEQ_PADDED, BATCH_PADDED])
@pytest.mark.parametrize("mode", GATES)
def test_unsorted_lengths_with_ties_and_zeros(mode, layout, lengths):
    check(Case(mode, lengths, num_layers=2, num_directions=2, layout=layout, dropout=0.3))


def test_second_backward_data_of_gru_equals_the_first():
    run = Run(Case("gru", num_layers=2, num_directions=2))
    run.forward_training()
    first = run.backward_data() | run.backward_weights()
    second = run.backward_data() | run.backward_weights() | run.backward_weights()
    for name, values in first.items():
        assert np.array_equal(second[name], values), name


@pytest.mark.parametrize("mode", GATES)
def test_null_states_equal_zeros_also_where_there_is_a_recurrent_bias(mode):
    """The first step adds the recurrent bias whether the initial state is NULL or zeros."""
    case = Case(mode, num_layers=2, num_directions=2)
    data, zero = expected(case).data, np.zeros(case.state_shape, case.dtype)
    zeros = Run(case, dataclasses.replace(data, hx=zero, cx=zero)).training()
    null = Run(dataclasses.replace(case, null=frozenset({"hx", "cx"})), data).training()
    for name, values in null.items():
        assert np.array_equal(values, zeros[name]), name


@pytest.mark.parametrize("mode", ["relu", "tanh", "gru"])
@pytest.mark.parametrize("layout", [PACKED, PADDED, SEQ_PADDED, BATCH_PADDED])
def test_cell_outputs_stay_untouched_without_a_cell_state(mode, layout):
    run = check(Case(mode, layout=layout))
    assert run.buffers["cy"].is_untouched
    assert run.buffers["dcx"].is_untouched


def test_a_result_off_by_one_part_in_a_thousand_is_refused():
    case = Case()
    got = Run(case).training()
    for name, values in got.items():
        wrong = dict(got, **{name: values * (1 + 1e-3)})
        with pytest.raises(AssertionError, match=f"^{name}: "):
            assert_results(case, wrong, expected(case).training)


@pytest.mark.parametrize("layout", [PACKED, PADDED])
@pytest.mark.parametrize("mode", GATES)
def test_states_wider_than_the_first_batch(mode, layout):
    """Rows of sequences without a step are zero in hy, cy, dhx and dcx."""
    run = check(Case(mode, (3, 2, 0, 0), num_layers=2, num_directions=2, layout=layout))
    assert not run.buffers["hy"].array[:, 2:].any()
    assert not run.buffers["dhx"].array[:, 2:].any()


@pytest.mark.parametrize("layout", [PACKED, BATCH_PADDED])
@pytest.mark.parametrize("mode", GATES)
def test_states_may_be_replaced_in_place(mode, layout):
    run = Run(Case(mode, num_layers=3, num_directions=2, layout=layout))
    reference = run.forward_inference()
    for state in ("h", "c"):
        buffer = run.buffers[f"{state}y"]
        buffer.array[:] = run.buffers[f"{state}x"].array
        run.buffers[f"{state}x"] = buffer
    function, arguments = run.call("forward_inference")
    function(*arguments)
    assert np.array_equal(run.rows.gather(run.buffers["y"].array), reference["y"])
    assert np.array_equal(run.buffers["hy"].array, reference["hy"])


@pytest.mark.parametrize("mode", GATES)
def test_padding_is_left_alone_with_a_descriptor_per_step(mode):
    run = check(Case(mode, (5, 2, 1), layout=PADDED))
    for name in ("y", "dx"):
        assert np.isnan(run.rows.padding(run.buffers[name].array)).all()


@pytest.mark.parametrize("marker", [None, -1.5])
@pytest.mark.parametrize("lengths", [(5, 2, 1), (2, 0, 5), (4, 4)])
@pytest.mark.parametrize("layout", [SEQ_PADDED, BATCH_PADDED])
@pytest.mark.parametrize("mode", GATES)
def test_padding_is_filled_with_the_marker_or_zero(mode, layout, lengths, marker):
    case = Case(mode, lengths, layout=layout, max_steps=6, marker=marker)
    run = check(case)
    for name in ("y", "dx"):
        assert (run.rows.padding(run.buffers[name].array) == (marker or 0)).all()
