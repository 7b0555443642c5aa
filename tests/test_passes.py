"""Every pass of every combination against the float64 reference, on guarded, NaN-filled buffers."""

from __future__ import annotations

import itertools

import cases
import numpy as np
import pytest
from cases import Case
from harness import ALGOS, Run, assert_results, check
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import GATES

pytestmark = pytest.mark.usefixtures("backend")

LAYOUTS = (*cases.DESCRIPTOR_LAYOUTS, *cases.SEQ_LAYOUTS)
SIZES = (1, 2, 3, 5, 7, 33)
SAMPLES = 4


def random_lengths(rng, layout):
    """1 to 7 sequences of up to 9 steps, as a layout allows them; at least one is not empty."""
    lengths = rng.integers(0, 10, size=rng.integers(1, 8)).tolist()
    lengths[0] = max(lengths[0], 1)
    if layout in (cases.SEQ_PADDED, cases.BATCH_PADDED):
        return tuple(lengths)
    return tuple(sorted(lengths, reverse=True))


def sample(mode, num_directions, dtype, layout, seed):
    """A case with everything else drawn at random."""
    rng = np.random.default_rng([seed, *map(ord, mode + dtype + layout), num_directions])
    # Half precision puts many relu units near their kink; few units leave room for clear data.
    sizes = SIZES[:4] if mode == "relu" and dtype == "float16" else SIZES
    lengths = random_lengths(rng, layout)
    skip_input = bool(rng.random() < 0.3)
    hidden_size = int(rng.choice(sizes))
    return Case(
        mode=mode,
        lengths=lengths,
        input_size=hidden_size if skip_input else int(rng.choice(SIZES)),
        hidden_size=hidden_size,
        num_layers=int(rng.integers(1, 3 if sizes is not SIZES else 5)),
        num_directions=num_directions,
        bias=bool(rng.random() < 0.6),
        skip_input=skip_input,
        algo=str(rng.choice(list(ALGOS))),
        dtype=dtype,
        layout=layout,
        max_steps=max(lengths) + int(rng.integers(3)) if layout in cases.SEQ_LAYOUTS else None,
        marker=-3.0 if layout in cases.SEQ_LAYOUTS and rng.random() < 0.5 else None,
        null=frozenset(name for name in cases.STATE_POINTERS if rng.random() < 0.3),
        dropout=float(rng.choice([0, 0, 0.25, 0.5])),
        seed=seed,
    )


@pytest.mark.parametrize("seed", range(SAMPLES))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", GATES)
def test_random_case_agrees(mode, num_directions, dtype, layout, seed):
    check(sample(mode, num_directions, dtype, layout, seed))


@pytest.mark.parametrize("layout", [cases.PACKED, cases.SEQ_PADDED])
@pytest.mark.parametrize("mode", GATES)
def test_every_subset_of_null_states_agrees(mode, layout):
    pointers = cases.STATE_POINTERS
    if mode != "lstm":
        pointers = [name for name in pointers if "c" not in name]
    for null in itertools.chain.from_iterable(
        itertools.combinations(pointers, count) for count in range(len(pointers) + 1)
    ):
        lengths = (2, 2, 1) if layout == cases.PACKED else (1, 0, 2)
        check(Case(mode, lengths, 2, 2, num_directions=2, layout=layout, null=frozenset(null)))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("skip_input", [False, True])
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("mode", GATES)
def test_every_configuration_agrees(mode, algo, num_directions, skip_input, bias):
    input_size = 5 if skip_input else 3
    check(Case(mode, (4, 4, 2), input_size, 5, 2, num_directions, bias, skip_input, algo, seed=1))


@st.composite
def small_cases(draw):
    layout = draw(st.sampled_from(LAYOUTS))
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any))
    if layout not in (cases.SEQ_PADDED, cases.BATCH_PADDED):
        lengths.sort(reverse=True)
    hidden_size, skip_input = draw(st.integers(1, 4)), draw(st.booleans())
    return Case(
        mode=draw(st.sampled_from(list(GATES))),
        lengths=tuple(lengths),
        input_size=hidden_size if skip_input else draw(st.integers(1, 4)),
        hidden_size=hidden_size,
        num_layers=draw(st.integers(1, 3)),
        num_directions=draw(st.integers(1, 2)),
        bias=draw(st.booleans()),
        skip_input=skip_input,
        algo=draw(st.sampled_from(list(ALGOS))),
        dtype="float32",
        layout=layout,
        null=draw(st.frozensets(st.sampled_from(cases.STATE_POINTERS))),
        dropout=draw(st.sampled_from([0.0, 0.3, 0.9])),
        seed=draw(st.integers(0, 2**64 - 1)),
    )


@settings(max_examples=150)
@given(case=small_cases())
def test_any_small_case_agrees(case):
    check(case)


@pytest.mark.parametrize("num_layers", [1, 2, 7])
@pytest.mark.parametrize("mode", GATES)
def test_any_number_of_layers_agrees(mode, num_layers):
    check(Case(mode, (3, 2), 3, 4, num_layers, num_directions=2, seed=2))


@pytest.mark.parametrize("mode", GATES)
def test_buffers_larger_than_needed_stay_untouched_beyond_the_need(mode):
    case = Case(mode, (4, 2, 1), num_layers=2, num_directions=2)
    exact, generous = Run(case), Run(case, extra_space=1000)
    expected = exact.training()
    assert_results(case, generous.training(), expected)
    for name in ("workspace", "reserve"):
        beyond = generous.buffers[name].bytes[exact.buffers[name].bytes.size :]
        assert (beyond == 0xFF).all(), f"{name} was touched beyond its need"
