"""oneDNN's inference on 8-bit integers against the reference, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onednn_int8 import H, Int8Case, Int8Run, check
from onednn_run import Placed

from miopy import onednn as dn
from miopy.errors import MiopyError

CASES = {
    "lstm": Int8Case(),
    "deep lstm": Int8Case(direction="concat", layers=2, per_output=True),
    "projected lstm": Int8Case(direction="sum", projection=4, per_output=True, layers=2),
    "gru": Int8Case("gru", "concat", layers=2),
    "gru of numbers": Int8Case("gru", "sum", numbers=("dst_layer", "src_iter", "dst_iter")),
    "lstm of numbers": Int8Case(direction="right_to_left", numbers=("dst_layer",), projection=7),
    "signed": Int8Case(codes="int8", direction="sum", per_output=True),
    "absent": Int8Case(absent=("src_iter", "dst_iter", "bias")),
    "plain weights": Int8Case(layout="ldigo", projection=4, per_output=True),
    "other plain weights": Int8Case("gru", layout="ldgoi"),
    "gaps": Int8Case(gaps=True, numbers=("src_iter", "dst_iter")),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_inference_is_as_the_formulas_say(case, backend):
    check(case, backend)


@pytest.mark.parametrize("layout", ["any", "ldigo"])
def test_without_layers_nothing_is_written(layout):
    run = Int8Run(Int8Case(layers=0, projection=4, layout=layout), "host")
    results = run.run()
    assert results["dst_iter"].size == results["dst_iter_c"].size == 0
    untouched = Placed(run.described("dst_layer"), "uint8").values
    assert np.array_equal(results["dst_layer"], untouched)


def refused(case: Int8Case, status: int, **changes: Any) -> str:
    with pytest.raises(MiopyError) as caught:
        Int8Run(case, "host").descriptor(**changes)
    assert caught.value.status == status
    return str(caught.value).partition(": ")[2]


def with_scales(count: int, mask: int) -> Any:
    attr = dn.dnnl_primitive_attr_create()
    dn.dnnl_primitive_attr_set_rnn_weights_qparams(attr, count, mask, [1.0] * count)
    return attr


def test_attributes_that_an_rnn_does_not_take():
    refused(Int8Case(), dn.dnnl_unimplemented, attr=with_scales(4, 8))
    refused(Int8Case(), dn.dnnl_unimplemented, attr=with_scales(4, 16))
    refused(Int8Case(), dn.dnnl_invalid_arguments, attr=with_scales(4 * H - 1, 24))
    shifted = dn.dnnl_primitive_attr_create()
    dn.dnnl_primitive_attr_set_rnn_data_qparams(shifted, 2.0, 1.0)
    refused(Int8Case(codes="int8"), dn.dnnl_unimplemented, attr=shifted)
    assert Int8Run(Int8Case(), "host").descriptor(attr=with_scales(99, 0)) is not None


@pytest.mark.parametrize("scale", [0.0, np.inf, np.nan])
@pytest.mark.parametrize("which", ["data", "weights", "weights_projection"])
def test_scales_that_numbers_do_not_come_back_from(which, scale):
    attr = dn.dnnl_primitive_attr_create()
    setter = getattr(dn, f"dnnl_primitive_attr_set_rnn_{which}_qparams")
    setter(attr, *((scale, 1.0) if which == "data" else (1, 0, [scale])))
    said = refused(Int8Case(projection=4), dn.dnnl_invalid_arguments, attr=attr)
    name = "scale" if which == "data" else "scales"
    assert said == f"`attr` has `{name}`, which must be finite and not zero, got {scale!r}"


def test_scales_of_packed_weights_are_those_of_attr():
    run, query = Int8Run(Int8Case(), "host"), dn.dnnl_primitive_desc_query_md
    packed = query(run.descriptor(), dn.dnnl_query_weights_md, 0)
    attr = dn.dnnl_primitive_attr_create()
    dn.dnnl_primitive_attr_set_rnn_weights_qparams(attr, 1, 0, [0.0])
    dims = run.case.dims()["weights_layer"]
    plain = dn.dnnl_memory_desc_create_with_tag(5, dims, dn.dnnl_f32, dn.dnnl_ldigo)
    with pytest.raises(MiopyError, match="`attr` has `scales`, which must be finite"):
        dn.dnnl_reorder_primitive_desc_create(plain, run.engine, packed, run.engine, attr)


@pytest.mark.parametrize(
    "shift, status", [(1.0, dn.dnnl_unimplemented), (np.inf, dn.dnnl_invalid_arguments)]
)
def test_shifts_that_codes_do_not_have(shift, status):
    attr = dn.dnnl_primitive_attr_create()
    dn.dnnl_primitive_attr_set_rnn_data_qparams(attr, 2.0, shift)
    said = refused(Int8Case(codes="int8"), status, attr=attr)
    assert said.startswith("`attr` has `shift`, which must be ")


WIDE = 70000
CHANNELS = {
    "src_layer_desc` must have SLC + DIC of at most 65536 of 8-bit data, got 70004": {
        "src_layer": (4, 3, WIDE),
        "weights_layer": (1, 1, WIDE, 4, H),
    },
    "weights_layer_desc` must have DHC of at most 65536 of 8-bit data, got 70000": {
        "weights_layer": (1, 1, 4, 4, WIDE),
        "weights_iter": (1, 1, 4, 4, WIDE),
        "weights_projection": (1, 1, WIDE, 4),
    },
}


@pytest.mark.parametrize("said", CHANNELS)
def test_more_channels_than_sums_of_codes_hold(said):
    case = Int8Case(projection=4, absent=("src_iter", "dst_iter", "bias"))
    wide = {
        f"{name}_desc": dn.dnnl_memory_desc_create_with_tag(
            *(len(dims), dims, dn.dnnl_u8 if name == "src_layer" else dn.dnnl_s8),
            dn.dnnl_format_tag_any,
        )
        for name, dims in CHANNELS[said].items()
    }
    assert refused(case, dn.dnnl_unimplemented, **wide) == f"`{said}"


def test_packed_weights_are_no_tensor():
    run = Int8Run(Int8Case(), "host")
    packed = dn.dnnl_primitive_desc_query_md(run.descriptor(), dn.dnnl_query_weights_md, 0)
    query = dn.dnnl_memory_desc_query
    assert query(packed, dn.dnnl_query_format_kind) == dn.dnnl_format_kind_opaque
    assert query(packed, dn.dnnl_query_dims) == run.case.dims()["weights_layer"]
    assert dn.dnnl_memory_desc_get_size(packed) > np.prod(run.case.dims()["weights_layer"])
    assert run.descriptor(weights_layer_desc=packed) is not None
    plain = run.described("bias")
    with pytest.raises(MiopyError) as caught:
        dn.dnnl_reorder_primitive_desc_create(packed, run.engine, plain, run.engine, None)
    assert caught.value.status == dn.dnnl_invalid_arguments


def test_version_2_tells_its_operation_too():
    v2 = dn.v2
    operation = v2.dnnl_primitive_desc_query(
        Int8Run(Int8Case("gru"), "host").descriptor(), v2.dnnl_query_rnn_d
    )
    assert operation.cell_kind is v2.dnnl_vanilla_gru
    assert operation.prop_kind == v2.dnnl_forward_inference
