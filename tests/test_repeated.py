"""Calls that repeat: what is remembered of them never outlives what it depends on."""

from __future__ import annotations

import dataclasses
import gc
import inspect
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cases import BATCH_PADDED, PACKED, SEQ_LAYOUTS, SEQ_PADDED, Case
from core_run import CoreRun
from cudnn_harness import CudnnRun, cudnn_case
from harness import PASSES, Run, tensor_descriptor
from oracle import GATES
from refusal import API, BAD, TENSORS, UNKNOWN, argument_of, assert_error, each, ready, refused

from miopy import cudnn as cu
from miopy import miopen as mi
from miopy.backends import host, host_operations, host_program
from miopy.calls import repeated
from miopy.core.config import RNNConfig
from miopy.errors import BadParam, BufferTooSmall


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setenv("MIOPY_BACKEND", "host")


def three_times(run):
    """All results of a run whose calls are remembered, prepared and run once more elsewhere."""
    results = []
    for _ in range(3):
        results.append(run.forward_inference() | run.training())
        data = {name: run.buffers[name].bytes.copy() for name in run.inputs}
        run.buffers = run.allocate()
        for name, content in data.items():
            run.buffers[name].bytes[:] = content
    return results


def assert_all_alike(results):
    for other in results[1:]:
        for name, values in results[0].items():
            assert np.array_equal(values, other[name]), name


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layout", [PACKED, *SEQ_LAYOUTS])
@pytest.mark.parametrize("mode", GATES)
def test_a_prepared_pass_gives_the_bits_of_the_first(mode, layout, dtype):
    lengths = (4, 0, 6, 1) if layout == BATCH_PADDED else (6, 4, 4, 1)
    case = Case(mode, lengths, 5, 7, 3, 2, layout=layout, dtype=dtype)
    assert_all_alike(three_times(Run(case)))


@pytest.mark.parametrize("options", [{"dropout": 0.4}, {"skip_input": True}, {"bias": False}])
def test_whatever_the_network_has(options):
    case = Case("gru", (6, 4, 4, 1), 7, 7, 3, 2, **options)
    assert_all_alike(three_times(Run(case)))


@pytest.mark.parametrize("options", [{}, {"projection_size": 2}, {"clip": (-0.1, 0.1)}])
def test_passes_of_cudnn(options):
    run = CudnnRun(cudnn_case(num_layers=2, num_directions=2, **options))
    assert_all_alike(three_times(run))


def test_passes_of_the_host_are_prepared(monkeypatch):
    """Else this file tests nothing."""
    taken = []
    take_down = host.take_down
    monkeypatch.setattr(host, "take_down", lambda *a: taken.append(take_down(*a)) or taken[-1])
    three_times(Run(Case("lstm", (3, 2), num_layers=2)))
    assert len(taken) == len(PASSES)
    assert all(isinstance(each, host_program.Program) for each in taken)


@pytest.mark.parametrize(("name", "argument"), each(TENSORS))
@pytest.mark.parametrize("layout", API)
def test_what_data_is_is_looked_at_in_every_call(layout, name, argument):
    run = ready(layout)
    good = argument_of(run, name, argument)
    wrong = [good.astype(np.float64), good[..., ::2], good[:0], "text", 0]
    locked = good.copy()
    locked.flags.writeable = False
    if argument in PASSES[name][0]:
        wrong.append(locked)
    for value in wrong:
        assert_error(refused(run, name, **{argument: value}), argument, BAD)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", API)
def test_an_overlap_is_seen_whenever_memory_moves(layout, name):
    run = ready(layout)
    output = PASSES[name][0][0]
    weights = argument_of(run, name, "w" if name != "backward_weights" else "x")
    shared = np.zeros(1 << 16, np.float32)
    target = argument_of(run, name, output)
    inside = shared[: target.size].reshape(target.shape)
    source = shared[1 : 1 + weights.size].reshape(weights.shape)
    argument = "w" if name != "backward_weights" else "x"
    error = refused(run, name, **{output: inside, argument: source})
    assert (error.argument, error.status) == (output, BAD)


@pytest.mark.parametrize("number", [1.0, np.float32(4), "4", None, [4]])
def test_numbers_that_equal_others_are_no_integers(number):
    run = ready(PACKED)
    for name in PASSES:
        error = refused(run, name, sequenceLen=number)
        assert_error(error, "sequenceLen", BAD)


def test_a_number_that_changes_is_read_again():
    """As tensors of torch may, which stand for integers and can be hashed."""

    class Count:
        def __init__(self, value):
            self.value = value

        def __index__(self):
            return self.value

    run = ready(PACKED)
    count = Count(argument_of(run, "forward_inference", "workSpaceNumBytes"))
    function, arguments = run.call("forward_inference")
    given = inspect.signature(function).bind(*arguments).arguments
    given["workSpaceNumBytes"] = count
    for _ in range(3):
        function(**given)
    count.value = 0
    with pytest.raises(BufferTooSmall):
        function(**given)


def test_members_of_other_enumerations_are_refused():
    run = ready(SEQ_PADDED)
    assert mi.miopenRNNTraining == mi.miopenHalf
    error = refused(run, "forward_training", fwdMode=mi.miopenHalf)
    assert_error(error, "fwdMode", BAD)


def inference(run):
    function, arguments = run.call("forward_inference")
    function(*arguments)


def test_a_changed_descriptor_is_read_again():
    run = Run(Case("tanh", (4, 4)))
    for _ in range(3):
        first = run.forward_inference()["y"]
    mi.miopenSetRNNDescriptor(
        *(run.rnn, run.case.hidden_size, 1, mi.miopenRNNlinear, mi.miopenRNNunidirection),
        *(mi.miopenRNNRELU, mi.miopenRNNwithBias, mi.miopenRNNdefault, mi.miopenFloat),
    )
    changed = run.forward_inference()["y"]
    assert not np.array_equal(changed, first)
    mi.miopenSetRNNDescriptor(
        *(run.rnn, run.case.hidden_size + 1, 1, mi.miopenRNNlinear, mi.miopenRNNunidirection),
        *(mi.miopenRNNRELU, mi.miopenRNNwithBias, mi.miopenRNNdefault, mi.miopenFloat),
    )
    with pytest.raises(BadParam):
        inference(run)


@pytest.mark.parametrize("which", ["x_desc", "h_desc", "w_desc"])
def test_a_descriptor_that_is_set_anew_or_destroyed(which):
    run = ready(PACKED)
    held = getattr(run, which)
    descriptor = held[-1] if which == "x_desc" else held
    mi.miopenSetTensorDescriptor(descriptor, mi.miopenHalf, 3, [1, 2, 3], None)
    with pytest.raises(BadParam):
        inference(run)
    mi.miopenDestroyTensorDescriptor(descriptor)
    with pytest.raises(BadParam, match="destroyed"):
        inference(run)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", API)
def test_what_is_remembered_is_nothing_to_a_dead_or_a_foreign_handle(layout, name):
    run = ready(layout)
    for wrong in (cu.cudnnCreate(), None, run.rnn, "text"):
        assert_error(refused(run, name, handle=wrong), "handle", BAD)
    mi.miopenDestroy(run.handle)
    error = refused(run, name)
    assert_error(error, "handle", BAD)
    assert "destroyed" in str(error)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", API)
def test_a_handle_that_profiles_times_what_it_remembers(layout, name):
    run = ready(layout)
    function, arguments = run.call(name)
    mi.miopenEnableProfiling(run.handle, True)
    assert mi.miopenGetKernelTime(run.handle) == 0
    function(*arguments)
    assert mi.miopenGetKernelTime(run.handle) > 0
    mi.miopenEnableProfiling(run.handle, False)
    elapsed = mi.miopenGetKernelTime(run.handle)
    function(*arguments)
    assert mi.miopenGetKernelTime(run.handle) == elapsed


def test_a_list_of_descriptors_may_change():
    run = ready(PACKED)
    run.x_desc[0] = tensor_descriptor("float32", [9, run.case.input_size])
    with pytest.raises(BadParam):
        inference(run)


@pytest.mark.parametrize("number", [1, 3, 5])
def test_steps_may_share_a_descriptor_or_not(number):
    """Whichever they do, what is remembered of one array does not stand for another."""
    case = Case("lstm", (number, number))
    run, longer = Run(case), Run(Case("lstm", (number + 1, number + 1)))
    shared = run.x_desc[0]
    for x_desc in (run.x_desc, [shared] * number, [shared] * number, run.x_desc):
        run.x_desc = x_desc
        assert_all_alike([run.forward_inference(), Run(case).forward_inference()])
    longer.x_desc = [shared] * number
    with pytest.raises(BadParam, match="xDesc"):
        inference(longer)


class Incomparable:
    def __eq__(self, other):
        raise RuntimeError


@pytest.mark.parametrize("wrong", [np.zeros(2), np.zeros((2, 3)), None, 5, "text", Incomparable()])
@pytest.mark.parametrize("place", [0, 1])
def test_what_stands_among_descriptors_is_named(wrong, place):
    run = ready(PACKED)
    run.x_desc[place] = wrong
    with pytest.raises(BadParam, match=rf"xDesc\[{place}\]"):
        inference(run)


def test_the_dropout_descriptor_of_an_rnn_is_read_again():
    run = Run(Case("lstm", (4, 2), num_layers=2, dropout=0.5))
    for _ in range(3):
        run.forward_training()
    dropout = mi.miopenGetRNNDescriptor_V2(run.rnn)[2]
    states = run.states.array
    arguments = (states, states.nbytes, 1, False, False, mi.MIOPEN_RNG_PSEUDO_XORWOW)
    mi.miopenSetDropoutDescriptor(dropout, run.handle, 2.0, *arguments)
    assert refused(run, "forward_training").status == UNKNOWN
    mi.miopenDestroyDropoutDescriptor(dropout)
    assert_error(refused(run, "forward_training"), "rnnDesc", BAD)


def test_settings_are_read_by_every_call(monkeypatch):
    monkeypatch.setenv("MIOPEN_RNNWRW_REDUCTION", "0")
    run = ready(PACKED)
    monkeypatch.setenv("MIOPEN_RNNWRW_REDUCTION", "1")
    assert isinstance(refused(run, "forward_inference"), BufferTooSmall)


def test_arrays_are_not_kept():
    run = ready(PACKED, dropout=0.5)
    buffers = [*run.buffers.values(), run.states]
    kept = [weakref.ref(buffer.array) for buffer in buffers]
    kept += [weakref.ref(buffer.memory) for buffer in buffers]
    run.buffers, run.inputs, run.states, run.rnn, buffers = {}, {}, None, None, []
    gc.collect()
    assert not [reference for reference in kept if reference() is not None]


def test_few_calls_are_remembered():
    run = Run(Case("tanh", (2,)))
    for batch in range(2, repeated.MOST_PASSES + 20):
        run.h_desc = tensor_descriptor("float32", [1, batch, run.case.hidden_size])
        with pytest.raises(BadParam):  # the states are too small; what is called is known by then
            inference(run)
        with pytest.raises(BadParam):
            inference(run)
        assert 0 < len(run.handle.passes) <= repeated.MOST_PASSES


def test_few_rows_are_remembered(monkeypatch):
    """Of all calls together; what alone has more is never remembered, and runs all the same."""
    monkeypatch.setattr(repeated, "MOST_ROWS", 10)
    run = Run(Case("tanh", (3, 1)))

    def remembered(lengths):
        other = Run(Case("tanh", lengths))
        other.handle, other.rnn = run.handle, run.rnn
        for _ in range(2):
            other.forward_inference()
        return len(run.handle.passes)

    assert [remembered(each) for each in ((3, 1), (4, 2), (1,), (7, 4))] == [1, 2, 1, 1]


def test_a_destroyed_handle_lets_go_of_its_backend():
    for library, run in ((mi, ready(PACKED)), (cu, CudnnRun(cudnn_case()))):
        run.training()
        backend = weakref.ref(run.handle.backend)
        destroy = library.miopenDestroy if library is mi else library.cudnnDestroy
        destroy(run.handle)
        assert backend() is None


def test_what_is_taken_down_owns_the_arrays_that_it_points_to():
    """Also where a layer is remembered whose sequence is equal to its own, and another object."""

    class Taken(host_operations.Operations):
        def _do(self, operation, call, kept):
            self.call, self.kept = call, kept

    run, taken = CoreRun(host.create(), RNNConfig("lstm", 5, 7), (3, 2, 1)), Taken()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run.backend, "recurrence_forward", taken.recurrence_forward)
        patch.setattr(run.backend, "recurrence_backward", taken.recurrence_backward)
        for direction in (run.forward, run.backward):
            for _ in range(2):
                run.sequence = dataclasses.replace(run.sequence)
                direction()
                (call, owner), *_ = taken.kept
                held = host.ffi.cast("intptr_t", call.layer.batch_sizes)
                assert call == taken.call and int(held) == owner.batch_sizes_array.ctypes.data


def test_threads_share_a_handle_each_with_its_own_memory():
    runs = [Run(Case("lstm", (5, 3, 1), 9, 12, 2, 2, seed=seed)) for seed in range(4)]
    expected = [run.forward_inference() for run in runs]
    for run in runs[1:]:
        run.handle, run.rnn = runs[0].handle, runs[0].rnn
        run.x_desc, run.y_desc = runs[0].x_desc, runs[0].y_desc
        run.h_desc, run.w_desc = runs[0].h_desc, runs[0].w_desc

    def repeat(run):
        return [run.forward_inference() for _ in range(200)]

    with ThreadPoolExecutor(4) as executor:
        for results, reference in zip(executor.map(repeat, runs), expected, strict=True):
            assert_all_alike([reference, *results])
