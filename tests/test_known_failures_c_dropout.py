"""Known failures of RNN libraries, group C: dropout and random numbers.

Not here: C5, C9, C13 need a GPU; C12 (zoneout) is not offered. MIOpen's own behaviour is that the
mask stays the same from call to call until a new seed is set, unlike what C1 asks of PyTorch.
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import oracle
import pytest
import xorwow
from cases import BATCH_PADDED, PACKED, Case, dropout_masks, expected
from harness import Buffer, Run, assert_results, check, rnn_descriptor, summands, tensor_descriptor
from oracle import GATES
from tolerance import assert_close

from miopy import miopen as mi
from miopy.errors import BadParam

DROPPING = Case("gru", (6, 6, 4, 1), 5, 6, 2, 2, dropout=0.4, seed=12345)


def dropout_of(run):
    """The dropout descriptor attached to a run's RNN."""
    return mi.miopenGetRNNDescriptor_V2(run.rnn)[2]


def set_dropout(run, dropout, states, seed, use_mask=False, restore=False):
    call = mi.miopenRestoreDropoutDescriptor if restore else mi.miopenSetDropoutDescriptor
    rng = mi.MIOPEN_RNG_PSEUDO_XORWOW
    call(dropout_of(run), run.handle, dropout, states, states.nbytes, seed, use_mask, False, rng)


def assert_same(got, reference):
    for name, values in reference.items():
        assert np.array_equal(got[name], values), name


@pytest.mark.parametrize("use_mask", [False, True])
def test_C1_restored_descriptor_drops_the_same_elements(backend, use_mask):
    """ROCm/legacy-rocm-build#6339: restoring with use_mask dropped everything."""
    run = Run(DROPPING)
    first = run.training()
    set_dropout(run, 0.4, run.states.array, 12345, use_mask, restore=True)
    again = run.training()
    assert_same(again, first)
    assert_results(DROPPING, again, expected(DROPPING).training)


def one_layer(case, layer, x):
    """A run of one layer of a case, with that layer's data and x (T, N, I)."""
    data = expected(case).data
    parameters = oracle.unpack(case.network, data.w)
    part = oracle.Parameters(
        *(
            {key._replace(layer=0): v for key, v in values.items() if key.layer == layer}
            for values in (parameters.weights, parameters.biases)
        )
    )
    one = dataclasses.replace(case, num_layers=1, input_size=x.shape[2], dropout=0.0)
    first = layer * case.num_directions
    states = {
        name: getattr(data, name)[first : first + case.num_directions]
        for name in ("hx", "cx", "dhy", "dcy")
    }
    return Run(one, dataclasses.replace(data, x=x, w=oracle.pack(one.network, part), **states))


@pytest.mark.parametrize("mode", GATES)
def test_C1_fused_dropout_equals_dropout_between_two_single_layers(backend, mode):
    case = dataclasses.replace(DROPPING, mode=mode)
    whole = Run(case)
    lower = one_layer(case, 0, expected(case).data.x)
    lower.forward_training()
    y = lower.buffers["y"].array
    desc, dropped = tensor_descriptor("float32", list(y.shape)), np.empty_like(y)
    dropout = dropout_of(whole)
    mi.miopenDropoutForward(whole.handle, dropout, desc, desc, y, desc, dropped, None, 0)
    upper = one_layer(case, 1, lower.rows.gather(dropped))
    reference = whole.forward_training()["y"]
    assert_close("y", upper.forward_training()["y"], reference, "float32", summands(case, "y"))


def test_C1_keep_rate_is_that_asked_for():
    for dropout in (0.1, 0.5, 0.8):
        kept = xorwow.mask(100_000, 1, dropout).mean()
        assert abs(kept - (1 - dropout)) < 3 * np.sqrt(dropout * (1 - dropout) / 100_000)


@pytest.mark.parametrize("layout", [PACKED, BATCH_PADDED])
@pytest.mark.parametrize("num_directions", [1, 2])
@pytest.mark.parametrize("mode", GATES)
def test_C2_gradients_see_the_dropped_activations(backend, mode, num_directions, layout):
    """pytorch/pytorch#190056: backward used layer outputs from before dropout."""
    check(Case(mode, (4, 3, 1), 4, 4, 3, num_directions, layout=layout, dropout=0.5, seed=3))


@pytest.mark.parametrize("mode", GATES)
def test_C3_dropout_of_a_single_layer_has_no_effect(backend, mode):
    """tensorflow/tensorflow#6466: dropout is only between layers."""
    case = Case(mode, num_layers=1, dropout=0.9, num_directions=2)
    without = dataclasses.replace(case, dropout=0.0)
    assert_same(Run(case).training(), Run(without).training())


# What makes a process of its own have the test's backend, before there are arrays.
SETUP = {
    "host": "pass",
    "emulated": "import hostcuda; hostcuda.emulate()",
    "cuda": "import pinned; pinned.replace_device()",
}


def digest():
    """A hash of all results of one training step with dropout."""
    results = Run(DROPPING).training()
    joined = b"".join(results[name].tobytes() for name in sorted(results))
    return hashlib.sha256(joined).hexdigest()


def test_C4_same_seed_gives_the_same_bits_in_another_process(backend):
    """pytorch/pytorch#35661: fixed seeds did not fix the results."""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    command = f"{SETUP[backend]}; import test_known_failures_c_dropout as t; print(t.digest())"
    done = subprocess.run(
        [sys.executable, "-c", command],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest()


def test_C4_another_seed_gives_another_mask_and_back(backend):
    run = Run(DROPPING)
    first = run.forward_training()["y"]
    set_dropout(run, 0.4, run.states.array, 999)
    assert not np.array_equal(run.forward_training()["y"], first)
    set_dropout(run, 0.4, run.states.array, 12345)
    assert np.array_equal(run.forward_training()["y"], first)


def test_C4_saved_states_resume_elsewhere(backend):
    run = Run(DROPPING)
    first = run.training()
    saved = run.states.bytes.copy()
    other = Run(dataclasses.replace(DROPPING, seed=DROPPING.seed), expected(DROPPING).data)
    set_dropout(other, 0.4, other.states.array, 7)
    set_dropout(other, 0.4, saved, 12345, restore=True)
    assert_same(other.training(), first)


def test_C6_descriptor_keeps_its_states_alive(backend):
    """chainer/chainer#1803: states were gone when the descriptor was used again."""
    run = Run(DROPPING)
    first = run.training()
    states = np.empty(run.states.array.nbytes, np.uint8)
    set_dropout(run, 0.4, states, 12345)
    del states
    gc.collect()
    blocks = [np.full(run.states.array.nbytes, 255, np.uint8) for _ in range(8)]
    assert_same(run.training(), first)
    del blocks


def test_C7_too_few_states_are_named_with_both_sizes():
    """pytorch/pytorch#953: running out of memory looked like a broken descriptor."""
    run = Run(DROPPING)
    needed = mi.miopenDropoutGetStatesSize(run.handle)
    states = np.empty(needed, np.uint8)
    rng = mi.MIOPEN_RNG_PSEUDO_XORWOW
    with pytest.raises(BadParam, match="states"):
        mi.miopenSetDropoutDescriptor(
            dropout_of(run), run.handle, 0.4, states[:100], needed, 0, False, False, rng
        )


def test_C8_states_are_initialised_fast():
    """pytorch/pytorch#182666: initialisation took most of a test suite's time."""
    handle, dropout = mi.miopenCreate(), mi.miopenCreateDropoutDescriptor()
    states = Buffer((mi.miopenDropoutGetStatesSize(handle),), "uint8")
    times = []
    for seed in range(5):
        start = time.process_time()
        size, rng = states.array.nbytes, mi.MIOPEN_RNG_PSEUDO_XORWOW
        mi.miopenSetDropoutDescriptor(
            dropout, handle, 0.5, states.array, size, seed, False, False, rng
        )
        times.append(time.process_time() - start)
    assert states.is_guarded
    assert min(times) < 0.05


@pytest.mark.parametrize("layout", [PACKED, BATCH_PADDED])
@pytest.mark.parametrize("mode", GATES)
def test_C10_inference_drops_nothing(backend, mode, layout):
    """PaddlePaddle/Paddle#59402: inference refused a dropout descriptor."""
    case = Case(mode, num_layers=3, dropout=0.5, layout=layout)
    without = dataclasses.replace(case, dropout=0.0)
    assert_same(Run(case).forward_inference(), Run(without).forward_inference())


@pytest.mark.parametrize("mode", GATES)
def test_C11_everything_between_layers_is_dropped_and_nothing_else(backend, mode):
    """apache/mxnet#10954: dropout in the wrong place. With p = 1 the upper layer sees zeros."""
    case = Case(mode, num_layers=2, num_directions=2, dropout=1.0)
    assert not any(mask.any() for mask in dropout_masks(case))
    run = check(case)
    got = run.training()
    assert got["y"].any()
    assert got["hy"][:2].any()
    gradients = oracle.unpack(case.network, got["dw"])
    for key, matrix in gradients.weights.items():
        if key.layer == 1 and key.role == "input":
            assert not matrix.any()


def test_C11_gradient_of_a_dropped_element_is_zero_even_where_it_overflows(backend):
    """The gradient that arrives at layer 0 is infinite; with p = 1 none of it passes."""
    null = frozenset({"hx", "dhy"})
    case = Case("tanh", num_layers=2, dropout=1.0, bias=False, null=null)
    data = expected(case).data
    data = dataclasses.replace(data, w=np.full_like(data.w, 2), dy=np.full_like(data.dy, 3e38))
    run = Run(case, data)
    run.forward_training()
    assert not run.backward_data()["dx"].any()


def test_C14_states_are_never_written_by_a_run(backend):
    """sony/nnabla-ext-cuda#288: the state array was cleared by accident."""
    run = Run(DROPPING)
    before = run.states.bytes.copy()
    run.forward_inference()
    run.training()
    assert np.array_equal(run.states.bytes, before)
    assert run.states.is_guarded


def test_C6_dropout_descriptor_is_read_when_it_is_used(backend):
    """A descriptor set again after the RNN descriptor took it counts with its new values."""
    case = dataclasses.replace(DROPPING, dropout=0.0)
    run = Run(DROPPING)
    set_dropout(run, 0.0, run.states.array, 12345)
    assert_same(run.training(), Run(case, expected(DROPPING).data).training())


def test_C10_created_but_never_set_descriptor_means_no_dropout(backend):
    case = Case(num_layers=2)
    run = Run(case)
    expected_results = run.training()
    rnn, _ = rnn_descriptor(case, run.handle)
    values = mi.miopenGetRNNDescriptor(rnn)
    mode, algo, inputs, direction, bias, hidden, layers = values
    mi.miopenSetRNNDescriptor_V2(
        rnn,
        hidden,
        layers,
        mi.miopenCreateDropoutDescriptor(),
        inputs,
        direction,
        mode,
        bias,
        algo,
        mi.miopenFloat,
    )
    run.rnn = rnn
    assert_same(run.training(), expected_results)
