"""Functions that give new arrays: what is remembered of them never outlives what it depends on."""

from __future__ import annotations

import array
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from mpsgraph_run import MpsgraphRun, problem
from tensorflow_run import TensorflowRun, assert_same_bits, tensorflow_case

from miopy import mpsgraph
from miopy import tensorflow_cudnn as tc
from miopy.backends import host, host_program
from miopy.calls import repeated
from miopy.dialects.mpsgraph import memory as mpsgraph_memory
from miopy.dialects.tensorflow_cudnn import memory as tensorflow_memory
from miopy.errors import BadParam, MiopyError


def forget_backends():
    tensorflow_memory.home.cache_clear()
    mpsgraph_memory.home.cache_clear()


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setenv("MIOPY_BACKEND", "host")
    forget_backends()
    yield
    forget_backends()


def ready_ops():
    """A run of TensorFlow's ops whose calls are remembered and prepared."""
    run = TensorflowRun(tensorflow_case("lstm", num_layers=2))
    for _ in range(3):
        run.forward(is_training=False)
        run.training()
    return run


def ready_operations(operation="LSTM", **options):
    """The same of Apple's, and what the forward operation has given."""
    run = MpsgraphRun(problem(operation, dtype="float32", **options))
    for _ in range(3):
        results = run.forward()
        run.gradients(results)
    return run, results


def lstm(run, **changes):
    given = run.inputs | {"descriptor": run.case.descriptor} | changes
    return mpsgraph.LSTM(**given)


def refusals(call, **changes):
    """The error of each call in which one argument is one of the wrong values."""
    for argument, values in changes.items():
        for value in values:
            with pytest.raises(MiopyError) as caught:
                call(**{argument: value})
            assert caught.value.argument == argument, value


def test_calls_of_the_host_are_prepared(monkeypatch):
    """Else this file tests nothing."""
    taken = []
    take_down = host.take_down
    monkeypatch.setattr(host, "take_down", lambda *a: taken.append(take_down(*a)) or taken[-1])
    ready_ops()
    run = MpsgraphRun(problem("LSTM", ("peephole", "mask"), dtype="float32"))
    for _ in range(3):
        run.forward(training=False)
    programs = [each for each in taken if isinstance(each, host_program.Program)]
    assert len(programs) == 4  # inference, training, backprop, Apple's


def wrong_ones(array):
    """What cannot be passed instead of an array; the second has its shape."""
    apart = np.repeat(array, 2, axis=-1)[..., ::2]
    return [array.astype(np.float64), apart, "text", 0, None, array.tolist()]


def test_what_arrays_are_is_looked_at_in_every_call():
    run = ready_ops()
    given = run.inputs | run.attributes | {"is_training": False}
    wrong = {name: wrong_ones(run.inputs[name]) for name in ("input_h", "input_c", "params")}
    refusals(lambda **changes: tc.CudnnRNNV3(**(given | changes)), **wrong)


def test_what_gradients_are_is_looked_at_in_every_call():
    run = ready_ops()
    given = run.inputs | run.attributes | run.gradients | run.outputs
    wrong = {name: wrong_ones(given[name]) for name in (*run.gradients, "reserve_space")}
    refusals(lambda **changes: tc.CudnnRNNBackpropV3(**(given | changes)), **wrong)


def test_what_apples_arrays_are_is_looked_at_in_every_call():
    run, _ = ready_operations()
    wrong = {name: wrong_ones(run.inputs[name]) for name in ("recurrentWeight", "source")}
    refusals(lambda **changes: lstm(run, **changes), recurrentWeight=wrong["recurrentWeight"])
    refusals(lambda **changes: lstm(run, **changes), source=wrong["source"][1:])


@pytest.mark.parametrize("value", [1, np.True_, "True", None, [True]])
def test_values_that_equal_others_are_not_taken_for_them(value):
    run = ready_ops()
    given = run.inputs | run.attributes
    refusals(lambda **changes: tc.CudnnRNNV3(**(given | changes)), is_training=[value])
    run, _ = ready_operations()
    descriptor = run.case.descriptor
    descriptor.training = value
    with pytest.raises(BadParam, match="must be True or False"):
        lstm(run, descriptor=descriptor)


def test_a_property_that_changes_changes_the_operation():
    run, results = ready_operations()
    descriptor = run.case.descriptor
    assert len(lstm(run, descriptor=descriptor)) == 3
    descriptor.training = False
    assert len(lstm(run, descriptor=descriptor)) == 1
    descriptor.reverse = True
    assert not np.array_equal(lstm(run, descriptor=descriptor)[0], results[0])
    descriptor.activation = mpsgraph.MPSGraphRNNActivation.none
    other = lstm(run, descriptor=descriptor)[0]
    descriptor.activation = mpsgraph.MPSGraphRNNActivation.tanh
    assert not np.array_equal(lstm(run, descriptor=descriptor)[0], other)


def test_lengths_that_change_in_place_change_the_op():
    run = ready_ops()
    before = run.forward(is_training=False)
    lengths = run.inputs["sequence_lengths"]
    run.inputs["sequence_lengths"] = lengths.tolist()
    assert_same_bits(run.forward(is_training=False), before)
    run.inputs["sequence_lengths"] = lengths
    lengths[0] += 1
    run.inputs["input"] = np.nan_to_num(run.inputs["input"])
    given = run.inputs | run.attributes
    output = tc.CudnnRNNV3(**given, is_training=False).output
    assert output[lengths[0] - 1, 0].any() and not output[lengths[0] :, 0].any()
    lengths[0] = -1
    with pytest.raises(BadParam, match=r"sequence_lengths\[0\]"):
        tc.CudnnRNNV3(**given, is_training=False)


@pytest.mark.parametrize(
    "make", [lambda kind, n: array.array(kind, n), lambda kind, n: memoryview(array.array(kind, n))]
)
def test_lengths_of_other_containers_are_asked_for_their_type(make):
    run = ready_ops()
    given, lengths = run.inputs | run.attributes, run.inputs["sequence_lengths"].tolist()
    for _ in range(3):
        tc.CudnnRNNV3(**(given | {"sequence_lengths": make("i", lengths)}), is_training=False)
    with pytest.raises(MiopyError, match="uint32"):
        tc.CudnnRNNV3(**(given | {"sequence_lengths": make("I", lengths)}), is_training=False)


def test_names_mean_nothing_and_keys_that_come_once_drop_no_others():
    run = ready_ops()
    known = len(tensorflow_memory.home().passes)
    for number in range(3 * repeated.MOST_PASSES):
        tc.CudnnRNNV3(**run.inputs, **run.attributes, name=f"op{number}")
        tc.CudnnRNNV3(**run.inputs, **(run.attributes | {"seed": number + 1}), is_training=False)
    assert len(tensorflow_memory.home().passes) == known


def test_no_array_of_a_call_is_kept_or_given_twice():
    run = ready_ops()
    first, second = (tc.CudnnRNNV3(**run.inputs, **run.attributes) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert not np.shares_memory(one, other)
    references = [weakref.ref(each) for each in (*first, *second, *run.inputs.values())]
    del first, second, one, other
    run.inputs.clear()
    run.outputs.clear()
    gc.collect()
    assert not [each() for each in references if each() is not None]


def test_threads_get_what_one_gets():
    run = ready_ops()
    given = run.inputs | run.attributes
    wanted = tc.CudnnRNNV3(**given)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: tc.CudnnRNNV3(**given), range(200)))
    for each in found:
        assert all(map(np.array_equal, each, wanted))


def test_backends_go_with_what_they_have_run():
    ready_ops()
    ready_operations()
    backends = [weakref.ref(each.backend()) for each in (tensorflow_memory, mpsgraph_memory)]
    forget_backends()
    gc.collect()
    assert [each() for each in backends] == [None, None]


def test_few_shapes_are_remembered(monkeypatch):
    monkeypatch.setattr(repeated, "MOST_PASSES", 3)
    for steps in (*range(2, 12), 3, 4, 5):
        run = TensorflowRun(tensorflow_case("gru", (steps, 2)))
        first = run.training()
        for _ in range(3):
            assert_same_bits(run.training(), first)
        assert len(tensorflow_memory.home().passes) <= 3
