"""The same bits every time: repeated passes, threads, moved buffers, training against inference."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cases import BATCH_PADDED, PACKED, SEQ_LAYOUTS, Case
from harness import Run
from oracle import GATES

pytestmark = pytest.mark.usefixtures("backend")

SORTED, UNSORTED = (6, 4, 4, 1), (4, 0, 6, 1)


def case_of(mode, layout=PACKED, **options):
    lengths = UNSORTED if layout == BATCH_PADDED else SORTED
    return Case(mode, lengths, 5, 7, 3, 2, layout=layout, **options)


def assert_same_bits(got, expected):
    assert got.keys() == expected.keys()
    for name, values in expected.items():
        assert np.array_equal(got[name], values), f"{name} differs"


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layout", [PACKED, BATCH_PADDED])
@pytest.mark.parametrize("mode", GATES)
def test_each_pass_twice_gives_the_same_bits(mode, layout, dtype):
    run = Run(case_of(mode, layout, dtype=dtype, dropout=0.4))
    for one in (
        run.forward_inference,
        run.forward_training,
        run.backward_data,
        run.backward_weights,
    ):
        assert_same_bits(one(), one())


@pytest.mark.parametrize("mode", GATES)
def test_another_object_gives_the_same_bits(mode):
    case = case_of(mode)
    assert_same_bits(Run(case).training(), Run(case).training())


@pytest.mark.parametrize("mode", GATES)
def test_backward_may_be_repeated_from_its_start(mode):
    run = Run(case_of(mode))
    first = run.training()
    again = run.backward_data() | run.backward_weights()
    assert_same_bits(again, {name: first[name] for name in again})


@pytest.mark.parametrize("mode", GATES)
def test_reserve_may_be_moved_byte_by_byte(mode):
    case = case_of(mode, dropout=0.4)
    run = Run(case)
    expected = run.training()
    run.forward_training()
    other = Run(case)
    other.buffers["reserve"].bytes[:] = run.buffers["reserve"].bytes
    got = other.backward_data()
    moved = Run(case)
    moved.buffers["reserve"].bytes[:] = run.buffers["reserve"].bytes
    moved.buffers["workspace"].bytes[:] = other.buffers["workspace"].bytes
    got |= moved.backward_weights()
    assert_same_bits(got, {name: expected[name] for name in got})


@pytest.mark.parametrize("mode", GATES)
def test_inference_in_between_does_not_disturb_training(mode):
    run = Run(case_of(mode))
    expected = run.training()
    run.forward_training()
    run.forward_inference()
    data = run.backward_data()
    run.forward_inference()
    got = data | run.backward_weights()
    assert_same_bits(got, {name: expected[name] for name in got})


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layout", [PACKED, *SEQ_LAYOUTS])
@pytest.mark.parametrize("mode", GATES)
def test_training_without_dropout_equals_inference(mode, layout, dtype):
    run = Run(case_of(mode, layout, dtype=dtype))
    assert_same_bits(run.forward_training(), run.forward_inference())


def test_handles_in_several_threads_do_not_disturb_one_another(backend):
    case = Case("lstm", (9, 9, 4), 20, 30, 2, 2, dropout=0.3)
    reference = Run(case).training()

    def repeat(_):
        run = Run(case)
        return [run.training() for _ in range(5 if backend == "emulated" else 20)]

    with ThreadPoolExecutor(4) as executor:
        for results in executor.map(repeat, range(4)):
            for result in results:
                assert_same_bits(result, reference)
