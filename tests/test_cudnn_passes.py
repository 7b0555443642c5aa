"""Every pass of the cuDNN dialect against the float64 reference, on guarded, NaN-filled buffers."""

from __future__ import annotations

import itertools

import cases
import numpy as np
import pytest
from cases import BATCH_PADDED, SEQ_LAYOUTS, SEQ_PACKED, SEQ_PADDED, expected
from cudnn_harness import ALGOS, BIASES, DTYPES, MODES, CudnnRun, check, cudnn_case
from guarded_run import NAN_BYTE, assert_results
from hypothesis import given, settings
from hypothesis import strategies as st
from storage import loaded, stored

from miopy import cudnn as cu

pytestmark = pytest.mark.usefixtures("backend")

PADDED_LAYOUTS = (SEQ_PADDED, BATCH_PADDED)
SIZES = (1, 2, 3, 5, 7, 33)
# 16 bits put many relu units near their kink; few units leave room for clear data.
SIZES_OF_RELU = {"float16": SIZES[:4], "bfloat16": SIZES[:3]}


def sample(mode, num_directions, dtype, layout, seed):
    """A case with everything else drawn at random."""
    rng = np.random.default_rng([seed, *map(ord, mode + dtype + layout), num_directions])
    lengths = rng.integers(0, 10, size=rng.integers(1, 8)).tolist()
    lengths[0] = max(lengths[0], 1)
    if layout == SEQ_PACKED:
        lengths.sort(reverse=True)
    sizes = SIZES_OF_RELU.get(dtype, SIZES) if mode == "relu" else SIZES
    hidden_size = int(rng.choice(sizes))
    skip_input = bool(rng.random() < 0.3)
    is_lstm = mode == "lstm"
    return cudnn_case(
        mode,
        tuple(lengths),
        input_size=hidden_size if skip_input else int(rng.choice(SIZES)),
        hidden_size=hidden_size,
        num_layers=int(rng.integers(1, 5 if sizes is SIZES else 3)),
        num_directions=num_directions,
        bias=str(rng.choice(list(BIASES))),
        skip_input=skip_input,
        projection_size=int(rng.integers(0, hidden_size)) if is_lstm and rng.random() < 0.5 else 0,
        clip=(-0.3, 0.4) if is_lstm and rng.random() < 0.4 else None,
        dtype=dtype,
        layout=layout,
        max_steps=max(lengths) + int(rng.integers(3)),
        marker=-3.0 if rng.random() < 0.5 else None,
        null=frozenset(name for name in cases.STATE_POINTERS if rng.random() < 0.3),
        dropout=float(rng.choice([0, 0, 0.25, 0.5])),
        seed=seed,
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("layout", SEQ_LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_random_case_agrees(mode, num_directions, dtype, layout, seed):
    check(sample(mode, num_directions, dtype, layout, seed))


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("skip_input", [False, True])
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_every_bias_mode_agrees(mode, num_directions, skip_input, bias):
    shape = {"input_size": 5 if skip_input else 3, "hidden_size": 5, "num_layers": 2}
    options = {"skip_input": skip_input, "bias": bias, "num_directions": num_directions}
    check(cudnn_case(mode, (4, 4, 2), **shape, **options))


@pytest.mark.parametrize("clip", [None, (-0.2, 0.3), (0.1, 0.1), (-np.inf, 0.0)])
@pytest.mark.parametrize("projection_size", [0, 1, 3])
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_projection_and_clipping_agree(dtype, num_directions, projection_size, clip):
    shape = {"input_size": 3, "hidden_size": 5, "num_layers": 2, "dtype": dtype}
    options = {"projection_size": projection_size, "clip": clip, "num_directions": num_directions}
    check(cudnn_case("lstm", (4, 3, 1), **shape, **options))


@pytest.mark.parametrize("dtype", DTYPES)
def test_projection_agrees_with_products_of_a_size_for_a_matrix_unit(dtype):
    shape = {"input_size": 100, "hidden_size": 128, "projection_size": 64}
    check(cudnn_case("lstm", (20,) * 8, dtype=dtype, **shape))


@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("mode", MODES)
def test_algorithms_are_hints(mode, algo):
    shape = {"num_layers": 2, "num_directions": 2, "layout": SEQ_PADDED}
    standard = CudnnRun(cudnn_case(mode, (3, 1, 2), **shape)).training()
    got = CudnnRun(cudnn_case(mode, (3, 1, 2), algo=algo, **shape)).training()
    assert all(np.array_equal(got[name], standard[name]) for name in standard)


@pytest.mark.parametrize("mode", ["tanh", "lstm"])
def test_every_subset_of_null_states_agrees(mode):
    """Of LSTMs every other one has a projection."""
    pointers = cases.STATE_POINTERS
    if mode != "lstm":
        pointers = [name for name in pointers if "c" not in name]
    options = {"num_directions": 2, "layout": SEQ_PADDED, "input_size": 3, "hidden_size": 2}
    subsets = [
        frozenset(null)
        for count in range(len(pointers) + 1)
        for null in itertools.combinations(pointers, count)
    ]
    for number, null in enumerate(subsets):
        projection_size = number % 2 if mode == "lstm" else 0
        check(cudnn_case(mode, (1, 0, 2), null=null, projection_size=projection_size, **options))


@st.composite
def small_cases(draw):
    layout = draw(st.sampled_from(SEQ_LAYOUTS))
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any))
    if layout == SEQ_PACKED:
        lengths.sort(reverse=True)
    mode, hidden_size = draw(st.sampled_from(list(MODES))), draw(st.integers(1, 4))
    skip_input, is_lstm = draw(st.booleans()), mode == "lstm"
    return cudnn_case(
        mode,
        tuple(lengths),
        input_size=hidden_size if skip_input else draw(st.integers(1, 4)),
        hidden_size=hidden_size,
        num_layers=draw(st.integers(1, 3)),
        num_directions=draw(st.integers(1, 2)),
        bias=draw(st.sampled_from(list(BIASES))),
        skip_input=skip_input,
        projection_size=draw(st.integers(0, hidden_size - 1)) if is_lstm else 0,
        clip=draw(st.sampled_from([None, (-0.25, 0.25)])) if is_lstm else None,
        dtype=draw(st.sampled_from(["float32", "float64"])),
        layout=layout,
        null=draw(st.frozensets(st.sampled_from(cases.STATE_POINTERS))),
        dropout=draw(st.sampled_from([0.0, 0.3, 0.9])),
        seed=draw(st.integers(0, 2**64 - 1)),
    )


@settings(max_examples=100)
@given(case=small_cases())
def test_any_small_case_agrees(case):
    check(case)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", PADDED_LAYOUTS)
@pytest.mark.parametrize("marker", [None, 0.0, -7.5])
def test_padding_of_y_is_filled_and_that_of_dx_is_zero(layout, dtype, marker):
    options = {"dtype": dtype, "layout": layout, "max_steps": 5, "marker": marker}
    run = CudnnRun(cudnn_case("gru", (2, 0, 4), num_directions=2, **options))
    run.forward_training()
    y = run.rows.padding(run.buffers["y"].array)
    if marker is None:  # as the harness left it
        assert (y.view(np.uint8) == NAN_BYTE).all()
    else:
        assert (y == stored(np.array([marker]), dtype)).all()
    run.backward_data()
    assert not loaded(run.rows.padding(run.buffers["dx"].array), dtype).any()


@pytest.mark.parametrize("layout", PADDED_LAYOUTS)
def test_padding_of_y_is_filled_in_inference_too(layout):
    run = CudnnRun(cudnn_case("lstm", (1, 3), layout=layout, marker=2.5, max_steps=4))
    run.forward_inference()
    assert (run.rows.padding(run.buffers["y"].array) == 2.5).all()


@pytest.mark.parametrize("mode", MODES)
def test_a_sequence_of_length_zero_keeps_its_states(mode):
    run = CudnnRun(cudnn_case(mode, (2, 0, 3), num_layers=2, num_directions=2, layout=SEQ_PADDED))
    got = run.training()
    pairs = [("hy", "hx"), ("dhx", "dhy")]
    pairs += [("cy", "cx"), ("dcx", "dcy")] if mode == "lstm" else []
    for result, source in pairs:
        assert np.array_equal(got[result][:, 1], run.buffers[source].array[:, 1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sequences_may_all_have_length_zero(dtype):
    options = {"layout": SEQ_PADDED, "max_steps": 2, "marker": 1.5, "dtype": dtype}
    run = CudnnRun(cudnn_case("lstm", (0, 0), projection_size=2, hidden_size=3, **options))
    got = run.training()
    assert np.array_equal(got["hy"], run.buffers["hx"].array)
    assert np.array_equal(got["dcx"], run.buffers["dcy"].array)
    assert not got["dw"].any() and not run.buffers["dx"].array.any()
    assert (run.buffers["y"].array == 1.5).all()


@pytest.mark.parametrize("projection_size", [0, 2])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_weights_are_added(dtype, bias, projection_size):
    case = cudnn_case(num_layers=2, bias=bias, dtype=dtype, projection_size=projection_size)
    run = CudnnRun(case)
    once = run.training()["dw"]
    rng = np.random.default_rng(0)
    start = stored(rng.uniform(-1, 1, once.shape), dtype)
    run.buffers["dw"].array[:] = start
    function, arguments = run.call("backward_weights")
    function(*arguments)
    got = loaded(run.buffers["dw"].array, dtype)
    wanted = expected(case).training["dw"] + loaded(start, dtype)
    assert_results(case, {"dw": got}, {"dw": wanted})
    assert run.buffers["dw"].is_guarded


@pytest.mark.parametrize("projection_size", [0, 2])
def test_backward_passes_may_be_repeated_in_other_workspaces(projection_size):
    options = {"num_layers": 3, "num_directions": 2, "dropout": 0.5, "layout": BATCH_PADDED}
    run = CudnnRun(cudnn_case(projection_size=projection_size, **options))
    first = run.training()
    again = run.backward_data() | run.backward_weights()
    assert all(np.array_equal(again[name], first[name]) for name in again)


def test_states_may_be_replaced_in_place():
    run = CudnnRun(cudnn_case(num_layers=2))
    wanted = run.forward_inference()
    function, arguments = run.call("forward_inference")
    replaced = {id(run["hy"]): run["hx"], id(run["cy"]): run["cx"]}
    function(*(replaced.get(id(value), value) for value in arguments))
    assert np.array_equal(run["hx"], wanted["hy"])
    assert np.array_equal(run["cx"], wanted["cy"])


@pytest.mark.parametrize("lengths", [None, np.array([3, 2], np.int32), 4096])
def test_lengths_on_the_device_are_not_looked_at(lengths):
    run = CudnnRun(cudnn_case("gru", (2, 1)))
    wanted = run.forward_training()
    function, arguments = run.call("forward_training")
    run.clear("y")
    function(*arguments[:3], lengths, *arguments[4:])
    assert np.array_equal(run["y"], wanted["y"][[0, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize("steps", [3, 5])
def test_equal_lengths_need_no_padding_flag(steps):
    run = CudnnRun(cudnn_case("tanh", (3, 3), layout=BATCH_PADDED, max_steps=steps))
    wanted = run.training()
    settings_of = list(cu.cudnnGetRNNDescriptor_v8(run.rnn))
    cu.cudnnSetRNNDescriptor_v8(run.rnn, *settings_of[:-1], cu.CUDNN_RNN_PADDED_IO_DISABLED)
    got = run.training()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("mode", MODES)
def test_state_descriptors_may_be_null_without_states(mode):
    null = frozenset(cases.STATE_POINTERS)
    run = CudnnRun(cudnn_case(mode, (3, 2), null=null))
    wanted = run.training()
    run.h_desc = run.c_desc = None
    got = run.training()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("mode", ["relu", "gru"])
def test_c_is_ignored_where_there_is_none(mode):
    run = CudnnRun(cudnn_case(mode, (3, 2)))
    wanted = run.training()
    run.c_desc = cu.cudnnCreateTensorDescriptor()
    got = run.training()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)


def test_nan_is_clipped_to_the_lower_bound_unless_it_propagates():
    run = CudnnRun(cudnn_case("lstm", (1,), clip=(-0.5, 0.5)))
    run.buffers["cx"].array[:] = np.nan
    run.inputs.pop("cx")
    assert np.isnan(run.forward_inference()["y"]).all()
    bounds = (cu.CUDNN_RNN_CLIP_MINMAX, cu.CUDNN_NOT_PROPAGATE_NAN, -0.5, 0.5)
    cu.cudnnRNNSetClip_v8(run.rnn, *bounds)
    got = run.forward_inference()
    run.buffers["cx"].array[:] = -0.5
    assert np.array_equal(run.forward_inference()["y"], got["y"])


@pytest.mark.parametrize("mode", MODES)
def test_buffers_larger_than_needed_stay_untouched_beyond_the_need(mode):
    case = cudnn_case(mode, (4, 2, 1), num_layers=2, num_directions=2)
    exact, generous = CudnnRun(case), CudnnRun(case, extra_space=1000)
    wanted = exact.training()
    got = generous.training()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)
    for name in ("workspace", "reserve"):
        beyond = generous.buffers[name].bytes[exact.buffers[name].bytes.size :]
        assert (beyond == 0xFF).all(), f"{name} was touched beyond its need"
