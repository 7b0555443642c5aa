"""TensorFlow's forward and gradient ops against the float64 reference and the cuDNN dialect."""

from __future__ import annotations

import numpy as np
import pytest
from cases import BATCH_PADDED, SEQ_PADDED, draw
from cudnn_harness import CudnnRun
from guarded_run import assert_results
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow_run import (
    BACKPROP,
    DTYPES,
    FORWARD,
    MODES,
    TensorflowRun,
    array_of,
    check,
    expected,
    tensorflow_case,
)

from miopy import tensorflow_cudnn as tc

pytestmark = pytest.mark.usefixtures("backend", "same_masks")

LAYOUTS = (SEQ_PADDED, BATCH_PADDED)


@pytest.fixture
def same_masks(monkeypatch):
    """Every call of an op has the masks of the first."""
    monkeypatch.setenv("TF_CUDNN_RESET_RND_GEN_STATE", "1")


def sample(mode, num_directions, dtype, layout):
    """A case with everything else drawn at random."""
    rng = np.random.default_rng([*map(ord, mode + dtype + layout), num_directions])
    lengths = rng.integers(0, 7, size=rng.integers(1, 6)).tolist()
    lengths[0] = max(lengths[0], 1)
    sizes = (1, 2, 3) if mode == "relu" else (1, 2, 3, 5, 33)
    hidden_size = int(rng.choice(sizes))
    skip_input = bool(rng.random() < 0.3)
    return tensorflow_case(
        mode,
        tuple(lengths),
        input_size=hidden_size if skip_input else int(rng.choice(sizes)),
        hidden_size=hidden_size,
        num_layers=int(rng.integers(1, 3 if mode == "relu" else 4)),
        num_directions=num_directions,
        skip_input=skip_input,
        projection_size=int(rng.integers(0, hidden_size)) if mode == "lstm" else 0,
        dtype=dtype,
        layout=layout,
        max_steps=max(lengths) + int(rng.integers(3)),
        dropout=float(rng.choice([0, 0.25, 0.5])),
        seed=int(rng.integers(2**31)),
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_random_case_agrees(mode, num_directions, dtype, layout):
    check(sample(mode, num_directions, dtype, layout))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", [1, 2])
def test_versions_of_full_sequences_agree(version, mode, num_directions, dtype):
    options = {"num_layers": 2, "num_directions": num_directions, "dtype": dtype, "dropout": 0.5}
    options["hidden_size"] = 2 if mode == "relu" else 5
    check(tensorflow_case(mode, (4, 4, 4), **options), version)


@pytest.mark.parametrize("num_layers, num_directions", [(1, 1), (3, 1), (2, 2)])
@pytest.mark.parametrize("mode", MODES)
def test_full_sequences_give_the_same_in_every_version(mode, num_layers, num_directions):
    shape = {"num_layers": num_layers, "num_directions": num_directions}
    case = tensorflow_case(mode, (3, 3), **shape)
    first, *others = (TensorflowRun(case, version).training() for version in FORWARD)
    for other in others:
        assert all(np.array_equal(other[name], first[name]) for name in first)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_every_bit_is_that_of_the_cudnn_dialect(backend, mode, num_directions, dtype, layout):
    """But for rounding of float64 on a GPU: the products asked for are the same, but the weights of
    `CudnnRun` lie off multiples of 16 bytes and these do not, by which cuBLAS chooses its kernels,
    and they the order of their sums."""
    case = tensorflow_case(
        mode,
        num_layers=2,
        num_directions=num_directions,
        dtype=dtype,
        layout=layout,
        projection_size=2 if mode == "lstm" else 0,
        dropout=0.5,
        seed=7,
        hidden_size=3,
    )
    data = expected(case).data
    wanted = CudnnRun(case, data).training()
    got = TensorflowRun(case, data=data).training()
    assert got.keys() == wanted.keys()
    if backend == "cuda" and dtype == "float64":
        assert_results(case, got, wanted)
        return
    for name in wanted:
        assert np.array_equal(got[name], wanted[name]), name


@st.composite
def small_cases(draw):
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any))
    mode, hidden_size = draw(st.sampled_from(list(MODES))), draw(st.integers(1, 4))
    skip_input = draw(st.booleans())
    return tensorflow_case(
        mode,
        tuple(lengths),
        input_size=hidden_size if skip_input else draw(st.integers(1, 4)),
        hidden_size=hidden_size,
        num_layers=draw(st.integers(1, 3)),
        num_directions=draw(st.integers(1, 2)),
        skip_input=skip_input,
        projection_size=draw(st.integers(0, hidden_size - 1)) if mode == "lstm" else 0,
        dtype=draw(st.sampled_from(["float32", "float64"])),
        layout=draw(st.sampled_from(LAYOUTS)),
        max_steps=draw(st.sampled_from([None, 5])),
        dropout=draw(st.sampled_from([0.0, 0.3, 0.9])),
        seed=draw(st.integers(0, 2**31 - 1)),
    )


@settings(max_examples=60)
@given(case=small_cases())
def test_any_small_case_agrees(case):
    check(case)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", MODES)
def test_a_sequence_of_length_zero_keeps_its_states(mode, layout):
    case = tensorflow_case(mode, (2, 0, 3), num_layers=2, num_directions=2, layout=layout)
    got, data = TensorflowRun(case).training(), expected(case).data
    pairs = [("hy", data.hx), ("dhx", data.dhy)]
    pairs += [("cy", data.cx), ("dcx", data.dcy)] if mode == "lstm" else []
    for name, source in pairs:
        assert np.array_equal(got[name][:, 1], source[:, 1])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_sequences_may_all_have_length_zero(dropout, layout):
    options = {"max_steps": 2, "layout": layout, "num_layers": 2, "dropout": dropout}
    case = tensorflow_case("lstm", (0, 0), **options)
    data = draw(case)
    got = TensorflowRun(case, data=data).training()
    assert np.array_equal(got["hy"], data.hx) and np.array_equal(got["dcx"], data.dcy)
    assert not got["y"].any() and not got["dx"].any() and not got["dw"].any()


@pytest.mark.parametrize("version", FORWARD)
def test_a_gradient_op_may_be_repeated(version):
    options = {"num_layers": 3, "num_directions": 2, "dropout": 0.5}
    run = TensorflowRun(tensorflow_case("lstm", (4, 4), **options), version)
    run.forward()
    first, again = run.backprop(), run.backprop()
    assert all(np.array_equal(again[name], first[name]) for name in first)


@pytest.mark.parametrize("mode", MODES)
def test_auto_select_skips_the_input_where_it_can(mode):
    for input_size, mode_of_input in ((4, "skip_input"), (3, "linear_input")):
        shape = {"input_size": input_size, "hidden_size": 4, "skip_input": input_size == 4}
        run = TensorflowRun(tensorflow_case(mode, (3, 2), **shape))
        assert run.attributes["input_mode"] == mode_of_input
        wanted = run.forward()
        attributes = run.attributes | {"input_mode": "auto_select"}
        got = tc.CudnnRNNV3(**run.inputs, **attributes)
        assert np.array_equal(run.rows.gather(got.output.reshape(-1, 4)), wanted["y"])


def test_a_projection_to_the_width_of_c_is_none():
    run = TensorflowRun(tensorflow_case("lstm", (3, 2), num_layers=2, hidden_size=4))
    wanted = run.forward()
    run.outputs = tc.CudnnRNNV3(**run.inputs, **run.attributes | {"num_proj": 4})._asdict()
    assert np.array_equal(run.outputs["output_h"], wanted["hy"])


@pytest.mark.parametrize("given", [0, None, "anything", np.zeros(3)])
@pytest.mark.parametrize("mode", ["rnn_tanh", "gru"])
def test_c_is_ignored_where_there_is_none(mode, given):
    case = tensorflow_case({"rnn_tanh": "tanh"}.get(mode, mode), (2, 2))
    run = TensorflowRun(case)
    run.inputs["input_c"] = run.gradients["output_c_backprop"] = given
    run.inputs = {name: value for name, value in run.inputs.items() if name != "input_c"}
    forward = tc.CudnnRNNV3(**run.inputs, input_c=given, **run.attributes)
    results = forward._asdict() | {"output_c": given}
    arrays = run.inputs | run.gradients | results | {"input_c": given}
    tc.CudnnRNNBackpropV3(**arrays, **run.attributes)
    assert forward.output_c.shape == ()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("version", FORWARD)
@pytest.mark.parametrize("is_training", [True, False])
def test_reserves_have_tensorflows_shapes_and_types(is_training, version, dtype):
    run = TensorflowRun(tensorflow_case("gru", (3, 3), dtype=dtype), version)
    run.forward(is_training=is_training)
    reserve = run.outputs["reserve_space"]
    assert reserve.dtype.name == dtype
    assert reserve.ndim == int(is_training)
    if version > 1:
        host = run.outputs["host_reserved"]
        shape = (2,) if version == 2 and is_training else ()
        assert (host.dtype, host.shape) == (np.int8, shape)
        assert not host.any()
    else:
        assert "host_reserved" not in run.outputs


def test_lengths_may_be_a_list():
    run = TensorflowRun(tensorflow_case("gru", (3, 1)))
    wanted = run.forward()
    run.inputs["sequence_lengths"] = [3, 1]
    got = tc.CudnnRNNV3(**run.inputs, **run.attributes)
    assert np.array_equal(got.output_h, wanted["hy"])


def test_a_larger_reserve_will_do():
    run = TensorflowRun(tensorflow_case())
    run.forward()
    wanted = run.backprop()
    run.outputs["reserve_space"] = np.append(run.outputs["reserve_space"], np.float32(np.nan))
    got = run.backprop()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)


class Exporter:
    """An array that shows itself by DLPack alone."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def test_arrays_of_other_libraries_are_taken():
    run = TensorflowRun(tensorflow_case())
    wanted = run.training()
    lengths = run.inputs.pop("sequence_lengths")
    given = {name: Exporter(array) for name, array in (run.inputs | run.gradients).items()}
    forward = tc.CudnnRNNV3(
        **{name: given[name] for name in run.inputs}, sequence_lengths=lengths, **run.attributes
    )
    assert np.array_equal(forward.output_h, wanted["hy"])
    arrays = given | forward._asdict() | {"sequence_lengths": lengths}
    got = tc.CudnnRNNBackpropV3(**arrays, **run.attributes)
    assert np.array_equal(got.params_backprop, wanted["dw"])


def finite_difference(run, name, index, step=1e-6):
    """Of the sum of the outputs times their gradients, by one element of an input."""
    totals = []
    for sign in (1, -1):
        moved = run.inputs[name].copy()
        moved.flat[index] += sign * step
        out = tc.CudnnRNNV3(**run.inputs | {name: moved}, **run.attributes)
        pairs = zip(out[:3], run.gradients.values(), strict=False)
        totals.append(sum(float(np.nansum(value * weight)) for value, weight in pairs))
    return (totals[0] - totals[1]) / (2 * step)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", ["tanh", "lstm", "gru"])
def test_gradients_are_those_of_finite_differences(mode, layout):
    case = tensorflow_case(
        mode,
        (3, 1, 2),
        num_layers=2,
        num_directions=2,
        dtype="float64",
        layout=layout,
        projection_size=2 if mode == "lstm" else 0,
        dropout=0.5,
    )
    run = TensorflowRun(case)
    run.forward()
    found = BACKPROP[3](**run.inputs, **run.gradients, **run.outputs, **run.attributes)._asdict()
    rng = np.random.default_rng(0)
    for name in ("input", "input_h", "params", *(["input_c"] if mode == "lstm" else [])):
        valid = np.flatnonzero(np.isfinite(run.inputs[name]))
        for index in rng.choice(valid, 8):
            wanted = finite_difference(run, name, index)
            assert found[f"{name}_backprop"].flat[index] == pytest.approx(wanted, abs=1e-7)


def test_gradients_overwrite_nothing_but_what_is_new():
    """Two calls give arrays of their own."""
    run = TensorflowRun(tensorflow_case("lstm", (3, 3)), 1)
    run.forward()
    given = run.inputs | run.gradients | run.outputs
    first = tc.CudnnRNNBackprop(**given, **run.attributes)
    kept = [np.copy(array) for array in first]
    second = tc.CudnnRNNBackprop(**given, **run.attributes)
    for one, other, copy in zip(first, second, kept, strict=True):
        assert not np.shares_memory(one, other) and np.array_equal(one, copy)


def test_bfloat16_is_that_of_ml_dtypes():
    case = tensorflow_case("gru", (2, 2), dtype="bfloat16")
    run = TensorflowRun(case)
    assert_results(case, run.training(), expected(case).training)
    assert run.outputs["output"].dtype == array_of(np.zeros(1), "bfloat16").dtype
