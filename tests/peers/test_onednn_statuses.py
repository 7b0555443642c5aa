"""What is refused, and with which status, is what the real oneDNN refuses."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from onednn_library import CPU, Library
from onednn_names import ARGUMENTS, WORKSPACE
from onednn_problems import CELLS, CONCAT, LEFT2RIGHT, SUM, Problem
from onednn_program import Program
from onednn_requests import request, status_of, variations

from miopy import onednn

pytestmark = pytest.mark.peers

SUCCESS, INVALID_ARGUMENTS, UNIMPLEMENTED = 0, 2, 3
FORWARD_PROP_KINDS = (64, 96)

# Kinds of propagation that RNN has not: invalid since version 3.13, which miopy follows.
NOT_FORWARD = {f"prop_kind {n}": (UNIMPLEMENTED, INVALID_ARGUMENTS) for n in (0, 32, 160, 192, 193)}
NOT_BACKWARD = NOT_FORWARD | {
    f"prop_kind {n}": (UNIMPLEMENTED, INVALID_ARGUMENTS) for n in FORWARD_PROP_KINDS
}


# What miopy does though oneDNN does not implement it: either order of weights in either pass, no
# bias, any strides of dimensions of length one.
TAKEN = {
    False: {
        *("weights_layer ldgoi", "weights_iter ldgoi", "weights_projection ldoi"),
        "no bias",
    },
    True: {
        *("weights_layer ldigo", "weights_iter ldigo", "weights_projection ldnc"),
        *("diff_weights_layer ldgoi", "diff_weights_iter ldgoi", "diff_weights_projection ldoi"),
        *("attention ntc", "attention, gaps", "diff_attention ntc", "diff_attention, gaps"),
    },
}
TAKEN_OF_ONE_GATE = {"bias ldoi", "diff_bias ldoi"}


def problem_of(name: str, direction: str = LEFT2RIGHT, **changes: Any) -> Problem:
    """A small one; `changes` may be sizes that do not go together."""
    dic = 5 if CELLS[name].projection else 7
    right = Problem(name, direction, time=4, batch=3, slc=6, sic=dic, dhc=7, dic=dic)
    return replace(right, **changes)


@pytest.mark.parametrize("is_backward", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_a_descriptor_with_one_thing_changed(library: Library, name: str, is_backward: bool):
    right = request(problem_of(name), is_backward=is_backward)
    assert right.status(library) == right.status(onednn) == 0
    statuses = {
        label: (asked.status(library), asked.status(onednn)) for label, asked in variations(right)
    }
    taken = TAKEN[is_backward] | (TAKEN_OF_ONE_GATE if len(CELLS[name].gates) == 1 else set())
    expected = dict.fromkeys(taken & statuses.keys(), (UNIMPLEMENTED, SUCCESS))
    expected |= NOT_BACKWARD if is_backward else NOT_FORWARD
    assert {label: pair for label, pair in statuses.items() if pair[0] != pair[1]} == expected


@pytest.mark.parametrize("is_backward", [False, True])
@pytest.mark.parametrize("name", ["tanh", "lstm peephole projection", "lbr_gru"])
def test_a_wrong_type_counts_before_a_wrong_size(library: Library, name: str, is_backward: bool):
    right = request(problem_of(name), is_backward=is_backward)
    # Cell states may be of either type, as long as all are.
    names = [each for each in right.descriptors if not each.endswith("iter_c")]
    for typed, sized in product(names, right.descriptors):
        asked = right.changed(typed, dtype="int8")
        first, *others = asked.descriptors[sized].shape
        asked = asked.changed(sized, shape=(first + 1, *others))
        assert asked.status(onednn) == asked.status(library) == UNIMPLEMENTED, (typed, sized)


@pytest.mark.parametrize("is_backward", [False, True])
@pytest.mark.parametrize(
    "changes",
    [
        {"sic": 8},
        {"sic": 8, "time": 1},
        {"sic": 8, "time": 1, "layers": 2},
        {"layers": 2},
        {"layers": 2, "slc": 7},
        {"layers": 2, "slc": 5},
        {"dic": 8},
        {"dic": 8, "sic": 8},
        {"time": 0},
        {"batch": 0},
        {"layers": 0},
        {"dtype": "uint8"},
        {"dtype": "int8"},
        {"direction": CONCAT},
        {"direction": SUM},
        {"direction": CONCAT, "layers": 2, "slc": 14},
        {"src_iter": False},
        {"dst_iter": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", CELLS)
def test_sizes_that_may_not_go_together(
    library: Library, name: str, changes: dict[str, Any], is_backward: bool
):
    asked = request(problem_of(name, **changes), is_backward=is_backward)
    assert asked.status(onednn) == asked.status(library)


@pytest.mark.parametrize("name", CELLS)
def test_an_argument_left_out(library: Library, name: str):
    problem = problem_of(name)
    tensors = problem.tensors()
    programs = [Program(api, problem, tensors) for api in (library, onednn)]
    for program in programs:
        program.forward(training=True)
    for left_out in (WORKSPACE, *(ARGUMENTS[name] for name in programs[0].tensors)):
        for program in programs:
            pairs = [pair for pair in program.pairs(program.tensors) if pair[0] != left_out]
            status = status_of(program.execute, program.forward_desc, pairs)
            assert status == INVALID_ARGUMENTS, left_out


def test_attention_that_was_not_described_is_missed_when_executed(library: Library):
    problem = problem_of("augru")
    programs = [Program(api, problem, problem.tensors()) for api in (library, onednn)]
    for program in programs:
        del program.tensors["attention"]
        desc = program.describe_forward(training=False)
        pairs = program.pairs(program.tensors)
        assert status_of(program.execute, desc, pairs) == INVALID_ARGUMENTS


@pytest.mark.parametrize(
    ("num_dims", "dims", "data_type", "tag"),
    [
        (3, [1, 2, 3], 3, 4),
        (0, [], 3, 4),
        (3, [1, -2, 3], 3, 4),
        (3, [1, 0, 3], 3, 4),
        (13, [1] * 12, 3, 4),
        (-1, [1], 3, 4),
        (3, [1, 2, 3], 0, 4),
        (3, [1, 2, 3], 99, 4),
        (3, [1, 2, 3], 3, 0),
        (3, [1, 2, 3], 3, 5),
        (3, [1, 2, 3], 3, 9999),
    ],
)
def test_memory_descriptors(
    library: Library, num_dims: int, dims: list[int], data_type: int, tag: int
):
    theirs, ours = (
        status_of(api.dnnl_memory_desc_create_with_tag, num_dims, dims, data_type, tag)
        for api in (library, onednn)
    )
    assert ours == theirs


@pytest.mark.parametrize("scales", [[1.0], None])
@pytest.mark.parametrize("mask", [0, 8, 24, 7, -1])
@pytest.mark.parametrize("count", [1, 0, -1])
@pytest.mark.parametrize("which", ["weights", "weights_projection"])
def test_scales_of_weights(
    library: Library, which: str, count: int, mask: int, scales: list[float] | None
):
    theirs, ours = (
        status_of(
            getattr(api, f"dnnl_primitive_attr_set_rnn_{which}_qparams"),
            *(api.dnnl_primitive_attr_create(), count, mask, scales),
        )
        for api in (library, onednn)
    )
    assert ours == theirs


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("kind", [CPU, 0, 5])
def test_engines(library: Library, kind: int, index: int):
    theirs, ours = (status_of(api.dnnl_engine_create, kind, index) for api in (library, onednn))
    assert ours == theirs
