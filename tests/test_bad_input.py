"""Memory that the seven passes refuse: the status, the argument named, and nothing written."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from cases import PACKED, PADDED, SEQ_LAYOUTS, Case
from harness import PASSES, Run
from refusal import (
    API,
    BAD,
    OUTPUTS,
    REQUIRED,
    TENSORS,
    UNKNOWN,
    argument_of,
    assert_error,
    each,
    ready,
    refused,
    spaces_of,
)

from miopy.errors import BadParam, BufferTooSmall


@pytest.mark.parametrize(("name", "argument"), each(REQUIRED))
@pytest.mark.parametrize("layout", API)
def test_null_where_memory_is_needed(layout, name, argument):
    assert_error(refused(ready(layout), name, **{argument: None}), argument, BAD)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", API)
def test_null_space(layout, name):
    run = ready(layout)
    for space, _ in spaces_of(name):
        assert_error(refused(run, name, **{space: None}), space, BAD)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", [PACKED, PADDED, *SEQ_LAYOUTS])
def test_declared_space_below_the_query_names_both_sizes(layout, name):
    run = ready(layout)
    for _, size in spaces_of(name):
        needed = argument_of(run, name, size)
        for declared in (needed - 1, 0):
            error = refused(run, name, **{size: declared})
            assert_error(error, size, UNKNOWN, BufferTooSmall)
            assert f"{needed}" in str(error)
            assert str(error).endswith(f"got {declared}")


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", API)
def test_memory_below_the_declared_size(layout, name):
    run = ready(layout)
    for space, size in spaces_of(name):
        short = argument_of(run, name, space)[:-1]
        assert_error(refused(run, name, **{space: short}), space, BAD)
        # A declaration that is larger than the memory is as wrong as too little memory.
        assert_error(refused(run, name, **{size: short.nbytes + 2}), space, BAD)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", API)
def test_space_at_an_odd_address(layout, name):
    run = ready(layout)
    for space, _ in spaces_of(name):
        room = np.zeros(argument_of(run, name, space).nbytes + 2, np.uint8)
        assert_error(refused(run, name, **{space: room[1:]}), space, BAD)
        assert_error(refused(run, name, **{space: room.ctypes.data + 2}), space, BAD)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("declared", [-1, 1e6, "4096", None])
def test_declared_space_that_is_no_size(name, declared):
    run = ready()
    for _, size in spaces_of(name):
        assert_error(refused(run, name, **{size: declared}), size, BAD)


@pytest.mark.parametrize("name", PASSES)
def test_declared_space_is_whatever_stands_for_an_integer(name):
    run = ready()
    function, arguments = run.call(name)
    given = inspect.signature(function).bind(*arguments).arguments
    function(**given | {size: np.array(given[size]) for _, size in spaces_of(name)})


@pytest.mark.parametrize(("name", "argument"), each(TENSORS))
@pytest.mark.parametrize("layout", API)
def test_tensor_of_the_wrong_type(layout, name, argument):
    run = ready(layout)
    for dtype in (np.float64, np.float16, np.int32):
        wrong = np.zeros(run[argument].shape, dtype)
        assert_error(refused(run, name, **{argument: wrong}), argument, BAD)


@pytest.mark.parametrize(("name", "argument"), each(TENSORS))
@pytest.mark.parametrize("layout", API)
def test_tensor_of_too_few_elements(layout, name, argument):
    run = ready(layout)
    short = run[argument].reshape(-1)[:-1]
    # Of w, backward data does not read the biases.
    count = run[argument].size if (name, argument) == ("backward_data", "w") else 1
    short = run[argument].reshape(-1)[: -count // 2] if count > 1 else short
    assert_error(refused(run, name, **{argument: short}), argument, BAD)


@pytest.mark.parametrize(("name", "argument"), each(TENSORS))
@pytest.mark.parametrize("layout", API)
def test_tensor_with_gaps(layout, name, argument):
    run = ready(layout)
    gaps = np.repeat(run[argument].reshape(-1), 2)[::2]
    assert_error(refused(run, name, **{argument: gaps}), argument, BAD)


@pytest.mark.parametrize(("name", "argument"), each(TENSORS))
@pytest.mark.parametrize("value", [0, -8, 1.5, "x", object()], ids=lambda v: type(v).__name__)
def test_something_that_is_no_memory(name, argument, value):
    assert_error(refused(ready(), name, **{argument: value}), argument, BAD)


@pytest.mark.parametrize(("name", "argument"), each(OUTPUTS))
@pytest.mark.parametrize("layout", API)
def test_read_only_output(layout, name, argument):
    run = ready(layout)
    locked = run[argument].view()
    locked.flags.writeable = False
    assert_error(refused(run, name, **{argument: locked}), argument, BAD)


@pytest.mark.parametrize("name", ["forward_training", "backward_data"])
def test_read_only_space(name):
    run = ready()
    locked = run["workspace"].view()
    locked.flags.writeable = False
    assert_error(refused(run, name, workSpace=locked), "workSpace", BAD)


OVERLAPS = [
    ("forward_training", "hy", "cy"),
    ("forward_training", "hy", "cx"),
    ("forward_inference", "cy", "hx"),
    ("backward_data", "dhx", "dcx"),
    ("backward_data", "dhx", "dhy"),
    ("backward_data", "dcx", "cx"),
    ("backward_data", "dx", "dy"),
    ("forward_training", "y", "x"),
    ("backward_weights", "dw", "x"),
]


@pytest.mark.parametrize(("name", "output", "other"), OVERLAPS)
@pytest.mark.parametrize("layout", API)
def test_output_that_overlaps_another_argument(layout, name, output, other):
    run = ready(layout, input_size=8)
    memory = np.zeros(run[output].size + run[other].size, np.float32)
    shared = {output: memory[: run[output].size], other: memory[: run[other].size]}
    error = refused(run, name, **shared)
    assert error.status == BAD
    assert {error.argument, output, other} == {output, other}
    # The last element of the one is the first of the other.
    shared = {output: memory[: run[output].size], other: memory[run[output].size - 1 :]}
    assert refused(run, name, **shared).status == BAD


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("layout", API)
def test_space_that_overlaps_an_output(layout, name):
    run = ready(layout)
    output = OUTPUTS[name][0]
    for space, size in spaces_of(name):
        nbytes = argument_of(run, name, size)
        memory = np.zeros(nbytes + run[output].nbytes, np.uint8)
        shared = memory[: run[output].nbytes].view(np.float32)
        assert refused(run, name, **{space: memory, output: shared}).status == BAD


def test_an_rnn_must_not_write_to_its_dropout_states():
    run = Run(Case("gru", (4, 3), num_layers=2, dropout=0.4))
    y = run.buffers["y"].array
    descriptor = run.rnn.dropout
    descriptor.states = y.ctypes.data
    with pytest.raises(BadParam, match="must not overlap"):
        run.forward_training()
