"""The same bits every time: repeated passes, threads, moved buffers, training against inference."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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


# Shapes that threads share in every way: by sequence, by unit, more threads than sequences.
SHARED = (
    Case(lengths=tuple(range(24, 0, -1)), input_size=40, hidden_size=48, num_layers=2, dropout=0.3),
    Case(lengths=(9, 0, 4) * 9, input_size=5, hidden_size=20, layout=BATCH_PADDED, dtype="float16"),
    Case(lengths=(7, 7, 1), input_size=150, hidden_size=150, skip_input=True),
    Case(lengths=(12,), input_size=3, hidden_size=40, num_layers=3, bias=False),
    Case(lengths=(5, 5, 4, 4), input_size=70, hidden_size=90),
    Case(lengths=(30, 30, 9, 2), input_size=130, hidden_size=250),
)


def digest():
    """One line per mode and shape: a hash of every result."""
    lines = []
    for mode, case in itertools.product(("tanh", "lstm", "gru"), SHARED):
        run = Run(dataclasses.replace(case, mode=mode, num_directions=2))
        passes = (run.forward_inference(), run.forward_training(), run.backward_data())
        results = [*passes, run.backward_weights()]
        joined = b"".join(array.tobytes() for result in results for array in result.values())
        lines.append(f"{mode} {case.lengths} {hashlib.sha256(joined).hexdigest()}")
    return "\n".join(lines)


def test_number_of_threads_does_not_change_a_bit():
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    outputs = set()
    for threads in ("1", "2", "5"):
        environment = os.environ | {"MIOPY_BACKEND": "host", "PYTHONPATH": path}
        environment["MIOPY_NUM_THREADS"] = threads
        command = [sys.executable, "-c", "import test_repeat; print(test_repeat.digest())"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_handles_in_several_threads_do_not_disturb_one_another():
    case = Case("lstm", (9, 9, 4), 20, 30, 2, 2, dropout=0.3)
    reference = Run(case).training()

    def repeat(_):
        run = Run(case)
        return [run.training() for _ in range(20)]

    with ThreadPoolExecutor(4) as executor:
        for results in executor.map(repeat, range(4)):
            for result in results:
                assert_same_bits(result, reference)
