"""Inference on 8-bit codes against the reference: codes and the numbers behind them are equal bit
for bit, cell states as float32 has them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import oracle_quantized as oracle
import pytest
from guarded_run import Buffer
from quantized_run import Case, QuantizedRun, address
from tolerance import assert_close

from miopy import backends
from miopy.core import quantized
from miopy.core.backend import Strided
from miopy.core.codes import CodeScale, Values, WeightScale
from miopy.core.config import DIRECTIONS
from miopy.core.quantized import PackedWeights, QuantizedRNN
from miopy.errors import BadParam, NotSupported

CELLS = {"lstm": ("lstm", 0), "lstm-projected": ("lstm", 5), "gru": ("reset_before_gru", 0)}
IN_GATE_OUT, GATE_OUT_IN = (0, 1, 2, 3, 4), (0, 1, 3, 4, 2)


def network(name: str, direction: str, layers: int) -> QuantizedRNN:
    cell, projection = CELLS[name]
    inputs = (projection or 7) if layers > 1 else 11
    return QuantizedRNN(cell, inputs, 7, layers, direction, projection)


def sampled() -> list:
    """Every cell, direction and number of layers; between them every other choice."""
    cases = []
    for number, (name, direction, layers) in enumerate(product(CELLS, DIRECTIONS, (1, 2))):
        case = Case(
            network(name, direction, layers),
            CodeScale(100.7, 64.5),
            steps=1 + number % 5,
            batch=1 + number // 3 % 3,
            per_output=bool(number // 2 % 2),
            float_output=bool((number // 2 + number // 8) % 2),
            float_states=bool((number + number // 8) % 2),
            gaps=(number % 3, number // 3 % 3),
            weight_axes=(IN_GATE_OUT, GATE_OUT_IN)[number % 2],
            seed=number,
        )
        cases.append(pytest.param(case, id=f"{name}-{direction}-{layers}"))
    return cases


def check(case: Case) -> dict[str, np.ndarray]:
    run = QuantizedRun(case, backends.get())
    results, expected = run.run(), run.expected()
    for name in ("y", *({"hy"} - set(case.null))):
        assert results[name].dtype == expected[name].dtype
        assert np.array_equal(results[name], expected[name]), name
    if case.rnn.cell == "lstm" and "cy" not in case.null:
        assert_close("cy", results["cy"], expected["cy"], "float32", case.steps)
    return results


@pytest.mark.parametrize("case", sampled())
def test_codes_equal_those_of_the_reference(backend, case):
    check(case)


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize(("per_output", "is_float"), list(product((False, True), repeat=2)))
def test_scales_and_types_in_every_combination(backend, name, per_output, is_float):
    case = Case(network(name, "concat", 1), per_output=per_output, seed=31)
    check(replace(case, float_output=is_float, float_states=not is_float))
    check(replace(case, float_output=is_float, float_states=is_float))


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_signed_codes(backend, name, direction):
    check(Case(network(name, direction, 2), CodeScale(90, signed=True), per_output=True, seed=3))


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (3, 33, 65, 2), (5, 130, 67, 6)])
def test_odd_sizes(backend, name, sizes):
    """More units than a worker or a vector has at a time."""
    batch, inputs, hidden, steps = sizes
    cell, projection = CELLS[name]
    rnn = QuantizedRNN(cell, inputs, hidden, projection_size=projection and hidden + 2)
    check(Case(rnn, steps=steps, batch=batch, per_output=True))


@pytest.mark.parametrize("name", CELLS)
def test_states_that_are_not_given_are_zero(backend, name):
    """The number 0, whose code is the rounded shift."""
    case = Case(network(name, "sum", 2), CodeScale(63, 100.5), null=("hx", "cx"))
    check(case)
    check(replace(case, null=("hx", "cx", "hy", "cy")))


def test_nan_in_a_cell_state_stays(backend):
    """And its output has the lowest code."""
    run = QuantizedRun(Case(network("lstm", "left_to_right", 1)), backends.get())
    run.cx[:, :, 0] = np.nan
    results = run.run()
    assert np.array_equal(np.isnan(results["cy"]), np.isnan(run.cx))
    assert not results["y"][:, 0].any() and results["y"][:, 1].any()


@pytest.mark.parametrize("name", CELLS)
def test_without_a_step_states_stay(backend, name):
    run = QuantizedRun(Case(network(name, "concat", 2), steps=0), backends.get())
    results = run.run()
    assert np.array_equal(results["hy"], run.hx)
    if name != "gru":
        assert np.array_equal(results["cy"], run.cx)


def test_without_a_sequence_nothing_happens(backend):
    check(Case(network("lstm", "sum", 1), batch=0))


def test_input_products_that_do_not_fit_run_in_chunks(backend, monkeypatch):
    case = Case(network("lstm", "concat", 2), steps=7, batch=3)
    whole = check(case)
    monkeypatch.setattr(quantized, "AHEAD_NBYTES", 2 * 4 * 3 * 4 * 7)
    quantized.plan.cache_clear()
    assert quantized.plan(case.rnn, 7, 3).chunk_steps == 2
    for name, values in check(case).items():
        assert np.array_equal(values, whole[name]), name
    quantized.plan.cache_clear()


@pytest.mark.parametrize("threads", ["1", "3"])
def test_builds_and_threads_of_the_host_give_the_same(host_device, monkeypatch, threads):
    """Large enough to be shared between threads."""
    monkeypatch.setenv("MIOPY_NUM_THREADS", threads)
    for name, signed in product(CELLS, (False, True)):
        cell, projection = CELLS[name]
        rnn = QuantizedRNN(cell, 90, 75, projection_size=projection and 77)
        check(Case(rnn, CodeScale(80, 0, signed), steps=2, batch=33, per_output=True))


# --- sums of two directions -----------------------------------------------------------------------


@pytest.mark.parametrize("data", [CodeScale(250, 3), CodeScale(100, 200), CodeScale(120, 0, True)])
@pytest.mark.parametrize("float_output", [False, True])
def test_sums_saturate(backend, data, float_output):
    case = Case(network("gru", "sum", 1), data, steps=5, float_output=float_output)
    run = QuantizedRun(case, backends.get())
    run.bias[:, :, 2] *= 20  # new memories near -1 and 1
    results, expected = run.run(), run.expected()
    assert np.array_equal(results["y"], expected["y"])
    codes = results["y"] * data.scale + 2 * data.shift if float_output else results["y"]
    limits = np.iinfo(run.oracle_data.dtype)
    assert np.isclose(codes, limits.max).any() or np.isclose(codes, limits.min).any()


# --- codes ----------------------------------------------------------------------------------------


def quantized_codes(data: CodeScale, numbers: np.ndarray) -> np.ndarray:
    device = backends.get()
    codes = Buffer(numbers.shape, "int8" if data.signed else "uint8")
    to, source = Values(address(codes.array)), Values(address(numbers), is_float=True)
    device.quantized.copy(data, to, source, numbers.size)
    assert codes.is_guarded
    return codes.array


def test_ties_round_to_even_and_all_else_saturates(backend):
    numbers = [0.5, 1.5, 2.5, -0.5, 254.5, 255.5, 300, -7, np.inf, -np.inf, np.nan, 1e38]
    codes = [0, 2, 2, 0, 254, 255, 255, 0, 255, 0, 0, 255]
    assert quantized_codes(CodeScale(1), np.float32(numbers)).tolist() == codes
    numbers = [-0.5, -1.5, -2.5, -127.5, -128.5, -200, 126.5, 127.5, np.nan]
    codes = [0, -2, -2, -128, -128, -128, 126, 127, -128]
    assert quantized_codes(CodeScale(1, 0, True), np.float32(numbers)).tolist() == codes


def test_numbers_are_scaled_and_shifted_in_two_roundings(backend):
    """In one, ties would break another way."""
    data = CodeScale(100.7, 37.25)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 255, 200_000)
    numbers = np.float32((codes + 0.5 - data.shift) / data.scale)  # ties, as near as may be
    expected = oracle.Data(data.scale, data.shift).codes(numbers)
    fused = np.rint(numbers.astype(np.float64) * np.float32(data.scale) + data.shift)
    assert (expected != fused).any()
    assert np.array_equal(quantized_codes(data, numbers), expected)


@pytest.mark.parametrize("data", [CodeScale(100.7, 37.5), CodeScale(90, 0, True)])
def test_codes_stand_for_numbers(backend, data):
    codes = np.arange(256, dtype=np.uint8).view(np.int8 if data.signed else np.uint8)
    numbers = Buffer(codes.shape, "float32")
    device, to = backends.get(), Values(address(numbers.array), is_float=True)
    device.quantized.copy(data, to, Values(address(codes)), 256)
    own = oracle.Data(data.scale, data.shift, data.signed)
    assert np.array_equal(numbers.array, own.numbers(codes))
    assert np.array_equal(quantized_codes(data, numbers.array), codes)
    assert numbers.is_guarded


def test_a_backend_that_is_gone_leaves_what_its_kernels_need():
    """Else they would wait for threads that have ended."""
    kernels = backends.get("host").quantized
    source, to = np.full(200_000, 0.5, np.float32), np.empty(200_000, np.uint8)
    kernels.copy(CodeScale(10.0), Values(address(to)), Values(address(source), True), to.size)
    assert np.all(to == 5)


# --- packed weights -------------------------------------------------------------------------------


def unpacked(packed: PackedWeights, buffer: Buffer) -> tuple[np.ndarray, np.ndarray]:
    """Codes (L, D, G, out, in) and sums (L, D, G, out)."""
    count = int(np.prod(packed.lengths))
    codes = buffer.array[:count].view(np.int8).reshape(packed.lengths)
    sums = buffer.array[-4 * (count // packed.inputs) :].view(np.int32)
    return codes, sums.reshape(packed.lengths[:-1])


@pytest.mark.parametrize("axes", [IN_GATE_OUT, GATE_OUT_IN, (4, 3, 2, 1, 0)])
@pytest.mark.parametrize("per_output", [False, True])
def test_weights_are_packed_from_any_order(backend, axes, per_output):
    case = Case(network("lstm", "concat", 2), per_output=per_output, weight_axes=axes)
    run = QuantizedRun(case, backends.get())
    numbers = run.matrices["recurrent"]
    scales = run.scales["weights"].reshape((4, 7) if per_output else (1, 1))
    codes = oracle.weight_codes(numbers, scales)
    packed = case.rnn.packed(1)
    for source, scale in ((numbers, run.scale_of("recurrent")), (codes, None)):
        found, sums = unpacked(packed, run.pack("recurrent", source, scale))
        assert np.array_equal(found, codes.transpose(0, 1, 3, 4, 2))
        assert np.array_equal(sums, codes.astype(np.int32).sum(2))


def test_weights_round_to_even_and_saturate(backend):
    numbers = np.float32([0.25, 0.75, 1.25, 63.75, 64, 500, -0.75, -64.25, -9e9, np.nan])
    packed = PackedWeights(1, 1, numbers.size, 1, 1)
    buffer = Buffer((packed.nbytes,), "uint8")
    quantized.pack(
        packed,
        backends.get(),
        to=address(buffer.array),
        source=Strided(address(numbers), (0, 0, 1, 0, 0)),
        scale=WeightScale((2,)),
    )
    codes, sums = unpacked(packed, buffer)
    assert codes.ravel().tolist() == [0, 2, 2, 127, 127, 127, -2, -128, -128, -128]
    assert sums.ravel().tolist() == [codes.sum(dtype=np.int32)]
    assert buffer.is_guarded


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0, np.inf, np.nan])
def test_scales_must_be_finite_and_not_zero(scale):
    with pytest.raises(BadParam, match="scale"):
        CodeScale(scale)
    with pytest.raises(BadParam, match="scales"):
        WeightScale((1, scale))


def test_shifts_must_be_finite_and_none_for_signed_codes():
    with pytest.raises(BadParam, match="shift"):
        CodeScale(1, np.nan)
    with pytest.raises(NotSupported, match="shift"):
        CodeScale(1, 3, signed=True)


@pytest.mark.parametrize(
    ("argument", "options", "error"),
    [
        ("cell", {"cell": "gru"}, NotSupported),
        ("direction", {"direction": "left2right"}, BadParam),
        ("hidden_size", {"hidden_size": 0}, BadParam),
        ("num_layers", {"num_layers": 0}, BadParam),
        ("input_size", {"num_layers": 2}, BadParam),
        ("projection_size", {"projection_size": -1}, BadParam),
        ("projection_size", {"cell": "reset_before_gru", "projection_size": 2}, BadParam),
        ("input_size", {"input_size": 1 << 16}, NotSupported),
        ("input_size", {"hidden_size": 1 << 17, "projection_size": 2}, NotSupported),
    ],
)
def test_networks_that_are_refused(argument, options, error):
    with pytest.raises(error, match=f"`{argument}`"):
        QuantizedRNN(**{"cell": "lstm", "input_size": 3, "hidden_size": 4} | options)


@pytest.mark.parametrize("numbers", [(-1, 1), (1, -1)])
def test_plans_have_no_negative_numbers(numbers):
    with pytest.raises(BadParam, match="steps" if numbers[0] < 0 else "batch"):
        quantized.plan(network("lstm", "sum", 1), *numbers)


def test_the_number_of_scales_must_fit(backend):
    run = QuantizedRun(Case(network("lstm-projected", "sum", 1), per_output=True), backends.get())
    for name in ("projection", "weights"):
        run.scales[name] = run.scales[name][1:]
        with pytest.raises(BadParam, match="scale"):
            run.run()


@pytest.mark.parametrize("own", ["scales", "matrices"])
@pytest.mark.parametrize("name", ["gru", "lstm-projected"])
def test_projections_are_given_where_there_is_one(backend, name, own):
    run = QuantizedRun(Case(network(name, "sum", 1)), backends.get())
    given = getattr(run, own)
    if "projection" in given:
        del given["projection"]
    else:
        given["projection"] = given["weights" if own == "scales" else "recurrent"]
    with pytest.raises(BadParam, match="projection"):
        run.run()


def test_inputs_must_be_codes(backend, monkeypatch):
    run = QuantizedRun(Case(network("gru", "sum", 1)), backends.get())
    steps = run.steps
    monkeypatch.setattr(run, "steps", lambda features, gaps, _: steps(features, gaps, True))
    with pytest.raises(BadParam, match="`x`"):
        run.run()
