"""Inference with 8-bit integers gives the very integers that the real oneDNN gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tolerance
from onednn_library import Library
from onednn_problems import CELLS, DIRECTIONS, LEFT2RIGHT, Problem
from onednn_program import Program
from onednn_quantized import QUANTIZED_CELLS, Quantized, problems
from onednn_requests import status_of

from miopy import onednn

pytestmark = pytest.mark.peers

UNIMPLEMENTED = 3
ROUNDING = 1e-6  # of an integer's value in float32, relative


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", QUANTIZED_CELLS)
def test_integers_are_equal(library: Library, name: str, direction: str):
    for problem in problems(name, direction):
        tensors = problem.tensors()
        ours = Program(onednn, problem, tensors).forward(training=False)
        theirs = Program(library, problem, tensors).forward(training=False)
        for output, expected in theirs.items():
            label = f"{output} of {problem}"
            if output == "dst_iter_c":
                summands = problem.slc + problem.sic
                tolerance.assert_close(label, ours[output], expected, "float32", summands)
            else:
                np.testing.assert_allclose(ours[output], expected, ROUNDING, err_msg=label)


class Scaled(Problem):
    """Of float32, with the attributes of integers."""

    attributes = Quantized.attributes
    scales = Quantized.scales
    per_channel = False


def refusals(library: Library, problem: Problem, *, training: bool = False) -> set[int]:
    """What the real oneDNN and miopy say to a primitive descriptor."""
    programs = [Program(api, problem, problem.tensors()) for api in (library, onednn)]
    return {
        status_of(lambda program=program: program.describe_forward(training=training))
        for program in programs
    }


def test_integers_that_onednn_has_not(library: Library):
    sizes = {"time": 2, "batch": 3, "slc": 4, "sic": 4, "dhc": 4, "dic": 4}
    right = Quantized("lstm", LEFT2RIGHT, **sizes)
    assert refusals(library, right) == {0}
    assert refusals(library, right, training=True) == {UNIMPLEMENTED}
    # miopy takes weights in plain layouts as well.
    assert refusals(library, replace(right, packed=False)) == {UNIMPLEMENTED, 0}
    assert refusals(library, Scaled("lstm", LEFT2RIGHT, **sizes)) == {UNIMPLEMENTED}
    for name in CELLS.keys() - set(QUANTIZED_CELLS):
        assert refusals(library, replace(right, name=name)) == {UNIMPLEMENTED}, name
