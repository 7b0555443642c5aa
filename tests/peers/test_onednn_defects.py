"""Where oneDNN does not give what its equations say: that it still does not, and that miopy does.

Every test shows both: oneDNN is far from the float64 reference, miopy is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tolerance
from onednn_errors import NEEDS_BFLOAT16
from onednn_library import Library, OneDNNError, cpu_has
from onednn_problems import FALLING, LEFT2RIGHT, Problem, Tensors
from onednn_program import Program
from onednn_reference import reference

from miopy import onednn

pytestmark = pytest.mark.peers

WRONG = 0.1  # a relative error that no rounding explains
SUMMANDS = 64
UNIMPLEMENTED = 3
BFLOAT16 = pytest.param("bfloat16", marks=NEEDS_BFLOAT16)
PROJECTIONS = ("lstm projection", "lstm peephole projection")


def gradients(api: Any, problem: Problem, tensors: Tensors) -> Tensors:
    program = Program(api, problem, tensors)
    program.forward(training=True)
    return program.backward()


def assert_right(problem: Problem, got: Tensors, expected: Tensors) -> None:
    for name, tensor in got.items():
        tolerance.assert_close(name, tensor, expected[name], problem.dtype, SUMMANDS)


def is_wrong(got: np.ndarray, expected: np.ndarray) -> bool:
    return tolerance.errors(got, expected)[1] > WRONG


def problem_of(name: str, **changes: Any) -> Problem:
    sizes = {"time": 4, "batch": 3, "slc": 7, "sic": 7, "dhc": 7, "dic": 7}
    return Problem(name, LEFT2RIGHT, **(sizes | changes), overwrite=True)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("time", [1, 4])
@pytest.mark.parametrize("name", ["tanh", "lstm", "lstm peephole"])
def test_gradients_of_weights_iter_without_src_iter(
    library: Library, name: str, time: int, layers: int
):
    """oneDNN pairs gradients of gates with the state after the step in the last layer."""
    problem = problem_of(name, time=time, layers=layers, src_iter=False)
    tensors = problem.tensors()
    expected = reference(problem, tensors)
    assert_right(problem, gradients(onednn, problem, tensors), expected)
    theirs = gradients(library, problem, tensors)
    wrong, right = theirs.pop("diff_weights_iter"), expected["diff_weights_iter"]
    assert is_wrong(wrong[-1], right[-1])
    assert_right(problem, theirs, expected)
    assert not any(is_wrong(*layer) for layer in zip(wrong[:-1], right[:-1], strict=True))


def test_gradients_of_relu_with_a_negative_slope(library: Library):
    """oneDNN takes the sign of a pre-activation from the output, which has lost it."""
    problem = problem_of(*FALLING)
    tensors = problem.tensors()
    expected, theirs = reference(problem, tensors), gradients(library, problem, tensors)
    assert_right(problem, gradients(onednn, problem, tensors), expected)
    assert all(is_wrong(theirs[name], expected[name]) for name in theirs)


@pytest.mark.parametrize("dtype", ["float32", BFLOAT16])
@pytest.mark.parametrize("name", ["augru", "lbr_augru"])
def test_gradients_of_cells_with_attention(
    library: Library, monkeypatch: pytest.MonkeyPatch, name: str, dtype: str
):
    """oneDNN leaves attention out of what it multiplies by; miopy does so too if it is asked to."""
    problem = problem_of(name, dtype=dtype)
    tensors = problem.tensors()
    expected, theirs = reference(problem, tensors), gradients(library, problem, tensors)
    assert_right(problem, gradients(onednn, problem, tensors), expected)
    assert {name for name in theirs if not is_wrong(theirs[name], expected[name])} == set()
    monkeypatch.setenv("MIOPY_ONEDNN_EXACT", "1")
    assert_right(problem, gradients(onednn, problem, tensors), theirs)


@NEEDS_BFLOAT16
@pytest.mark.parametrize("name", PROJECTIONS)
def test_gradients_with_a_projection_in_bfloat16(library: Library, name: str):
    """oneDNN accepts the descriptor, then cannot execute it."""
    problem = problem_of(name, dtype="bfloat16")
    tensors = problem.tensors()
    with pytest.raises(OneDNNError) as caught:
        gradients(library, problem, tensors)
    assert caught.value.status == UNIMPLEMENTED
    assert_right(problem, gradients(onednn, problem, tensors), reference(problem, tensors))


@pytest.mark.skipif(not cpu_has("avx512_bf16"), reason="oneDNN is right on this CPU")
@pytest.mark.parametrize("name", PROJECTIONS)
def test_inference_with_a_projection_in_bfloat16(library: Library, name: str):
    """oneDNN's outputs are wrong with weights in the layout that it chooses itself."""
    problem = problem_of(name, dtype="bfloat16", packed=True)
    tensors = problem.tensors()
    expected = reference(problem, tensors)
    theirs = Program(library, problem, tensors).forward(training=False)
    assert is_wrong(theirs["dst_layer"], expected["dst_layer"])
    ours = Program(onednn, problem, tensors).forward(training=False)
    assert_right(problem, ours, expected)
