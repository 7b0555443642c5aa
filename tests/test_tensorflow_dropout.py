"""Masks of TensorFlow's ops: others at each call of a process, the same in each process."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from cases import dropout_masks
from cudnn_harness import CudnnRun
from tensorflow_run import TensorflowRun, expected, tensorflow_case

from miopy import tensorflow_cudnn as tc
from miopy.dialects.tensorflow_cudnn import dropout

RESET = "TF_CUDNN_RESET_RND_GEN_STATE"
OPTIONS = {"num_layers": 2, "hidden_size": 33, "dropout": 0.5}


@pytest.fixture(autouse=True)
def new_process(backend, monkeypatch):
    """As if nothing had been called."""
    monkeypatch.delenv(RESET, raising=False)
    dropout._calls.clear()


def outputs(run, count, **attributes):
    """What so many calls give."""
    given = run.inputs | run.attributes | attributes
    return [tc.CudnnRNNV3(**given).output for _ in range(count)]


def test_the_first_call_has_the_masks_of_the_seed():
    case = tensorflow_case("gru", seed=5 << 32 | 7, **OPTIONS)
    assert dropout_masks(case)
    wanted = CudnnRun(case, expected(case).data).training()
    got = TensorflowRun(case).training()
    assert all(np.array_equal(got[name], wanted[name]) for name in wanted)


def test_every_call_has_masks_of_its_own():
    run = TensorflowRun(tensorflow_case("gru", **OPTIONS))
    first, *others = outputs(run, 4)
    assert not any(np.array_equal(first, other) for other in others)
    assert not np.array_equal(others[0], others[1])


def test_calls_are_counted_for_each_seed_rate_and_shape():
    run = TensorflowRun(tensorflow_case("gru", **OPTIONS))
    first, second = outputs(run, 2, seed=1)
    assert not np.array_equal(first, outputs(run, 1, seed=2)[0])
    outputs(run, 1, seed=1, dropout=0.25)
    outputs(TensorflowRun(tensorflow_case("gru", max_steps=9, **OPTIONS)), 1, seed=1)
    dropout._calls.clear()
    assert np.array_equal(outputs(run, 2, seed=1), [first, second])


def test_inference_and_rnns_of_one_layer_do_not_count():
    run = TensorflowRun(tensorflow_case("gru", **OPTIONS))
    outputs(run, 3, is_training=False)
    outputs(TensorflowRun(tensorflow_case("gru", **OPTIONS | {"num_layers": 1})), 3)
    assert not dropout._calls


@pytest.mark.parametrize("word", ["1", "true", "True"])
def test_the_variable_resets_the_masks_at_every_call(word, monkeypatch):
    run = TensorflowRun(tensorflow_case("gru", **OPTIONS))
    first, second = outputs(run, 2)
    monkeypatch.setenv(RESET, word)
    again, and_again = outputs(run, 2)
    assert np.array_equal(again, first) and np.array_equal(and_again, first)
    monkeypatch.setenv(RESET, "0")
    (third,) = outputs(run, 1)
    assert not np.array_equal(third, first) and not np.array_equal(third, second)


def test_another_word_in_the_variable_is_refused(monkeypatch):
    run = TensorflowRun(tensorflow_case("gru", **OPTIONS))
    monkeypatch.setenv(RESET, "yes")
    with pytest.raises(tc.InvalidArgumentError) as raised:
        outputs(run, 1)
    message = f"Failed to parse the env-var ${{{RESET}}} into bool: yes"
    assert str(raised.value) == f"{message} [Op:CudnnRNNV3]"


@pytest.mark.parametrize(
    "seed, seed2, whole",
    [(0, 0, 0), (1, 2, 1 << 32 | 2), (-1, 0, 0xFFFFFFFF << 32), (1, -1, 2**64 - 1)],
)
def test_a_seed_has_two_halves(seed, seed2, whole, monkeypatch):
    """A negative second half covers the first with ones, as C extends its sign."""
    seeds = []
    monkeypatch.setattr(dropout, "next_seed", lambda found, *call: seeds.append(found) or found)
    run = TensorflowRun(tensorflow_case("gru", **OPTIONS))
    outputs(run, 1, seed=seed, seed2=seed2)
    assert seeds == [whole]


@pytest.mark.parametrize("dropout_rate", [0.0, 1.0])
def test_rates_at_the_ends(dropout_rate):
    case = tensorflow_case("gru", **OPTIONS | {"dropout": dropout_rate})
    run = TensorflowRun(case)
    first, second = outputs(run, 2)
    assert np.array_equal(first, second)


def test_gradients_have_the_masks_of_their_reserve():
    run = TensorflowRun(tensorflow_case("lstm", **OPTIONS))
    run.forward()
    wanted = run.backprop()
    kept = dict(run.outputs)
    run.forward()
    other = run.backprop()
    run.outputs = kept
    again = run.backprop()
    assert all(np.array_equal(again[name], wanted[name]) for name in wanted)
    assert not np.array_equal(other["dw"], wanted["dw"])


def test_the_masks_of_a_process_are_those_of_another():
    code = (
        "import numpy as np\n"
        "from miopy import tensorflow_cudnn as tc\n"
        "x, h, w = np.ones((4, 3, 5), 'f'), np.zeros((2, 3, 33), 'f'), np.full(10692, 0.01, 'f')\n"
        "arrays = {'input': x, 'input_h': h, 'input_c': 0, 'params': w}\n"
        "for n in range(3):\n"
        "    print(tc.CudnnRNN(**arrays, rnn_mode='gru', dropout=0.5, seed=3).output.sum())\n"
    )
    first, second = (
        subprocess.check_output(
            [sys.executable, "-c", code], text=True, env=os.environ | {"MIOPY_BACKEND": "host"}
        )
        for _ in range(2)
    )
    assert first == second
    assert len(set(first.split())) == 3
