"""What a problem of oneDNN's gives in float64."""

from __future__ import annotations

from onednn_harness import Example, OnednnCase
from onednn_problems import Problem, Tensors


def reference(problem: Problem, tensors: Tensors) -> Tensors:
    """Every output and every gradient."""
    cell = problem.cell
    case = OnednnCase(
        "leaky_relu" if cell.alpha else cell.activation or cell.kind,
        problem.direction.removeprefix("bidirectional_"),
        problem.time,
        problem.batch,
        problem.slc,
        problem.dhc,
        problem.layers,
        projection=problem.dic if cell.projection else 0,
        sic=problem.sic if problem.sic != problem.dic else 0,
        peephole=cell.peephole,
        absent=tuple({"src_iter", "dst_iter"} - problem.inputs.keys() - problem.outputs.keys()),
        overwrites=problem.overwrite,
        slope=cell.alpha,
    )
    example = Example(case, tensors)
    return example.outputs | example.gradients
