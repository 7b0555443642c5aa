"""Every cell and direction, both types and all passes: miopy, the real oneDNN and float64 agree.

One program drives both libraries through the same functions. Errors are left in a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tolerance
from onednn_errors import PASSES, Errors, parameters
from onednn_library import Library
from onednn_problems import Problem, Tensors, sample
from onednn_program import Program
from onednn_reference import reference

from miopy import onednn

pytestmark = pytest.mark.peers

INFERENCE, TRAINING, DATA, WEIGHTS = PASSES


@pytest.fixture(scope="module")
def errors() -> Iterator[Errors]:
    """What was measured, written at the end."""
    measured = Errors()
    yield measured
    measured.write()


def passes(api: Any, problem: Problem, tensors: Tensors, *, backward: bool) -> dict[str, Tensors]:
    """The results of each pass."""
    program = Program(api, problem, tensors)
    found = {INFERENCE: program.forward(training=False), TRAINING: program.forward(training=True)}
    gradients = program.backward() if backward else {}
    for name, tensor in gradients.items():
        is_data = name.startswith("diff_src") or name == "diff_attention"
        found.setdefault(DATA if is_data else WEIGHTS, {})[name] = tensor
    return found


def differentiates(problem: Problem) -> bool:
    """Whether oneDNN has a backward pass, and it is right; test_onednn_defects.py proves more."""
    unimplemented = problem.dtype == "bfloat16" and problem.cell.projection
    return not unimplemented and not problem.cell.has_attention


def summands(problem: Problem, pass_name: str) -> int:
    """The longest sum behind a result."""
    units = problem.directions * len(problem.cell.gates) * problem.dhc
    channels = max(problem.slc, problem.sic, problem.dic) + problem.dhc
    return max(units, channels, problem.time * problem.batch if pass_name == WEIGHTS else 0)


@pytest.mark.parametrize(("dtype", "name", "direction"), parameters())
def test_onednn_agrees(library: Library, errors: Errors, dtype: str, name: str, direction: str):
    for problem in sample(name, direction, dtype):
        tensors = problem.tensors()
        expected = reference(problem, tensors)
        ours = passes(onednn, problem, tensors, backward=True)
        theirs = passes(library, problem, tensors, backward=differentiates(problem))
        for pass_name in PASSES:
            row = (dtype, name, direction)
            errors.add(row, pass_name, ours[pass_name], theirs.get(pass_name, {}), expected)
            count = summands(problem, pass_name)
            for whose, results in (("miopy", ours), ("oneDNN", theirs)):
                for tensor, got in results.get(pass_name, {}).items():
                    label = f"{whose} {pass_name} {tensor} of {problem}"
                    tolerance.assert_close(label, got, expected[tensor], dtype, count)
