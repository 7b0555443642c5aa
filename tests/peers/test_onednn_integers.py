"""Inference with 8-bit integers gives the very integers that the real oneDNN gives."""

from __future__ import annotations

import numpy as np
import pytest
import tolerance
from onednn_library import Library
from onednn_problems import DIRECTIONS
from onednn_program import Program
from onednn_quantized import QUANTIZED_CELLS, problems

from miopy import onednn

pytestmark = pytest.mark.peers

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
