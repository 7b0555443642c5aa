"""oneDNN's primitives against the reference: cells, directions, layouts, types, absent tensors."""

from __future__ import annotations

import numpy as np
import pytest
from onednn_harness import OnednnCase, example
from onednn_run import OnednnRun, check

from miopy import onednn as dn

CELLS = ("relu", "leaky_relu", "tanh", "logistic", "lstm", "gru", "lbr_gru")
ATTENTIVE = ("augru", "lbr_augru")
DIRECTIONS = ("left2right", "right2left", "concat", "sum")
LSTMS = {
    "peephole": {"peephole": True},
    "projection": {"projection": 4},
    "wider projection": {"projection": 9, "peephole": True},
}
DATA = ("src_layer", "dst_layer", "diff_src_layer", "diff_dst_layer", "attention", "diff_attention")
STATES = ("src_iter", "src_iter_c", "dst_iter", "dst_iter_c")
STATES += tuple(f"diff_{name}" for name in STATES)
WEIGHTS = ("weights_layer", "weights_iter", "diff_weights_layer", "diff_weights_iter")
PROJECTIONS = ("weights_projection", "diff_weights_projection")
VECTORS = ("bias", "weights_peephole", "diff_bias", "diff_weights_peephole")


def laid_out(layout: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, layout)


@pytest.mark.parametrize("cell", CELLS)
def test_every_cell_in_every_direction(cell, backend):
    for number, direction in enumerate(DIRECTIONS):
        layers = 1 + number % 2
        check(OnednnCase(cell, direction, slc=6 if layers > 1 else 5, layers=layers), backend)


@pytest.mark.parametrize("cell", ATTENTIVE)
def test_attention(cell, backend):
    check(OnednnCase(cell), backend)
    check(OnednnCase(cell, steps=1, batch=7, slc=1, absent=("src_iter",)), backend)


@pytest.mark.parametrize("extra", LSTMS.values(), ids=LSTMS)
def test_lstm_with_more(extra, backend):
    check(OnednnCase(direction="concat", **extra), backend)
    width = extra.get("projection", 6)
    check(OnednnCase(direction="sum", layers=3, slc=width, **extra), backend)


@pytest.mark.parametrize(
    ("steps", "batch", "slc", "dhc"), [(1, 1, 1, 1), (7, 1, 3, 2), (1, 5, 4, 3), (19, 7, 33, 17)]
)
@pytest.mark.parametrize("cell", ["lstm", "lbr_gru"])
def test_sizes(cell, steps, batch, slc, dhc, backend):
    check(OnednnCase(cell, "concat", steps, batch, slc, dhc), backend)


@pytest.mark.parametrize(
    "case",
    [
        OnednnCase("tanh", "concat", steps=1, sic=9),
        OnednnCase("logistic", "sum", steps=1, sic=2, slc=6, layers=2),
        OnednnCase("lstm", "right2left", steps=1, sic=3, projection=4, peephole=True),
    ],
    ids=lambda case: case.cell,
)
def test_one_step_from_states_of_another_size(case, backend):
    check(case, backend)


@pytest.mark.parametrize(
    "absent",
    [("src_iter",), ("dst_iter",), ("bias",), ("src_iter", "dst_iter", "bias")],
    ids=" ".join,
)
def test_what_is_absent_is_zero(absent, backend):
    for cell in ("lstm", "leaky_relu", "lbr_gru"):
        check(OnednnCase(cell, absent=absent), backend)


LAYOUTS = {
    "ntc": laid_out("ntc", *DATA),
    "ntc in, tnc out": laid_out("ntc", "src_layer", "diff_src_layer"),
    "ldgoi": laid_out("ldgoi", *WEIGHTS) | laid_out("ldoi", *PROJECTIONS),
    "ldgoi in, ldigo out": laid_out("ldgoi", *WEIGHTS[:2]) | laid_out("ldoi", PROJECTIONS[0]),
    "gaps in data": laid_out("gaps", *DATA, *STATES),
    "gaps in weights": laid_out("gaps", *WEIGHTS, *PROJECTIONS),
    "any": laid_out("any", *DATA, *STATES, *WEIGHTS, *PROJECTIONS, *VECTORS),
}


@pytest.mark.parametrize("layouts", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(layouts, backend):
    for case in (
        OnednnCase("lstm", "sum", projection=5, peephole=True, layouts=layouts),
        OnednnCase("augru", batch=4, layouts=layouts),
        OnednnCase("lbr_gru", "concat", dhc=1, slc=1, layouts=layouts),
    ):
        check(case, backend)


def test_open_weights_lie_alike_in_both_passes():
    """So that they need no reorder in between; and their gradients."""
    run = OnednnRun(OnednnCase("lstm", "concat", projection=4, layouts=LAYOUTS["any"]), "host")
    forward, backward = map(run.descriptor, (dn.dnnl_forward_training, dn.dnnl_backward))
    query, dims = dn.dnnl_primitive_desc_query_md, run.case.dims()
    for index, name in enumerate(("weights_layer", "weights_iter", "weights_projection")):
        tag = dn.dnnl_ldoi if name == "weights_projection" else dn.dnnl_ldgoi
        shape = len(dims[name]), dims[name], dn.dnnl_f32
        wanted = dn.dnnl_memory_desc_create_with_tag(*shape, tag)
        for found in (
            query(forward, dn.dnnl_query_weights_md, index),
            query(backward, dn.dnnl_query_weights_md, index),
            query(backward, dn.dnnl_query_diff_weights_md, index),
        ):
            assert dn.dnnl_memory_desc_equal(found, wanted), name


@pytest.mark.parametrize("finer", [False, True], ids=["one type", "mixed"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_types(dtype, finer, backend):
    gaps = laid_out("gaps", "src_layer", "dst_layer", "src_iter") | {"weights_iter": "ldgoi"}
    for case in (
        OnednnCase("lstm", "concat", dtype=dtype, finer=finer, projection=4),
        OnednnCase("lstm", "sum", dtype=dtype, finer=finer, peephole=True, layouts=gaps),
        OnednnCase("augru", dtype=dtype, finer=finer, layouts=laid_out("ntc", *DATA)),
        OnednnCase("lbr_gru", dtype=dtype, finer=finer, slc=6, layers=2, absent=("src_iter",)),
        OnednnCase("relu", dtype=dtype, finer=finer, seed=3),
    ):
        check(case, backend)


def test_gradients_of_parameters_overwrite_with_the_flag(backend):
    check(OnednnCase("lstm", projection=3, peephole=True, overwrites=True), backend)
    check(OnednnCase("gru", overwrites=True, layouts=laid_out("gaps", *DATA)), backend)


def test_backward_may_be_repeated_on_one_workspace(backend):
    run = OnednnRun(OnednnCase("lstm", "sum", slc=6, layers=2), backend)
    run.execute(dn.dnnl_forward_training)
    first, again = run.execute(dn.dnnl_backward), run.execute(dn.dnnl_backward)
    for name, values in first.items():
        assert np.array_equal(values, again[name]), name


def test_the_librarys_scratchpad_gives_the_same(backend):
    case = OnednnCase("gru", "concat", layouts=laid_out("gaps", *DATA))
    own, users = (OnednnRun(case, backend, user_scratchpad=each) for each in (False, True))
    for kind in (dn.dnnl_forward_training, dn.dnnl_backward):
        results = users.execute(kind)
        for name, values in own.execute(kind).items():
            assert np.array_equal(values, results[name]), name


@pytest.mark.parametrize("cell", ATTENTIVE)
def test_the_librarys_gradient_of_augru_on_demand(cell, backend, monkeypatch):
    """As oneDNN 3 computes it: w = (1 - a) u counts as u, and da = -sum of dh (h - n) u^2 (1 - u).

    One step and one unit: dh' = 1, so that all factors can be written down."""
    case = OnednnCase(cell, steps=1, batch=1, slc=1, dhc=1, overwrites=True)
    monkeypatch.setenv("MIOPY_ONEDNN_EXACT", "1")
    run = OnednnRun(case, backend)
    run.execute(dn.dnnl_forward_training)
    got = run.execute(dn.dnnl_backward)
    given = {name: array.ravel() for name, array in example(case).inputs.items()}
    (step,) = example(case).forward.steps[0, 0]
    u, n, h = step.saved["z"].item(), step.saved["n"].item(), given["src_iter"].item()
    a = given["attention"].item()
    dh = given["diff_dst_layer"].item() + given["diff_dst_iter"].item()
    expected_attention = -dh * (h - n) * u * u * (1 - u)
    dn_ = dh * (1 - u) * (1 - n * n)
    du = (1 - a) * dh * (h - n) * u * (1 - u)
    assert got["diff_attention"].item() == pytest.approx(expected_attention, rel=1e-4)
    assert got["diff_bias"].ravel()[:3:2] == pytest.approx([du, dn_], rel=1e-4)


def test_without_sequences_nothing_happens(backend):
    for case in (OnednnCase("lstm", batch=0), OnednnCase("gru", "sum", batch=0, overwrites=True)):
        check(case, backend)


@pytest.mark.parametrize("missing", [{"steps": 0}, {"layers": 0, "slc": 6}], ids=["T", "L"])
def test_without_steps_or_layers_nothing_is_written(missing, backend):
    run = OnednnRun(OnednnCase("lstm", **missing), backend)
    for kind in (dn.dnnl_forward_training, dn.dnnl_backward):
        results = run.execute(kind)
        for name in ("dst_layer", "dst_iter", "dst_iter_c", "diff_src_layer", "diff_src_iter"):
            assert np.isnan(results.get(name, np.nan)).all(), name
