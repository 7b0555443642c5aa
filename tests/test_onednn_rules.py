"""What oneDNN refuses of RNN descriptors, each rule broken once, with the status it gives."""

from __future__ import annotations

from typing import Any

import pytest
from onednn_harness import OnednnCase, gapped_strides
from onednn_run import OnednnRun

from miopy import onednn as dn
from miopy.errors import MiopyError

INVALID, UNIMPLEMENTED = dn.dnnl_invalid_arguments, dn.dnnl_unimplemented
TRAINING, BACKWARD = dn.dnnl_forward_training, dn.dnnl_backward
INFERENCE = dn.dnnl_forward_inference
ANY = dn.dnnl_format_tag_any


def tensor(*dims: int, data_type: int = dn.dnnl_f32) -> Any:
    return dn.dnnl_memory_desc_create_with_tag(len(dims), dims, data_type, ANY)


def strided(dims: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    return dn.dnnl_memory_desc_create_with_strides(len(dims), dims, dn.dnnl_f32, strides)


def refused(case: OnednnCase, prop_kind: int, status: int, /, **changes: Any) -> str:
    """The message of the error, which names the function."""
    run = OnednnRun(case, "host")
    with pytest.raises(MiopyError) as caught:
        run.descriptor(prop_kind, **changes)
    assert caught.value.status == status, str(caught.value)
    function = f"dnnl_{case.function}_{'backward' if prop_kind == BACKWARD else 'forward'}"
    assert str(caught.value).startswith(f"{function}_primitive_desc_create: `")
    return str(caught.value)


def without_reference(case: OnednnCase) -> OnednnRun:
    """A run that only describes: of a network that cannot be."""
    run = OnednnRun.__new__(OnednnRun)
    run.case, run.attr = case, None
    run.engine = dn.dnnl_engine_create(dn.dnnl_cpu, 0)
    return run


# T, N, SLC, DHC are 4, 3, 5, 6; a changed tensor, and what the message says of it.
LSTM, DEEP = OnednnCase("lstm"), OnednnCase("lstm", slc=6, layers=2)
PEEPHOLE, PROJECTION = OnednnCase("lstm", peephole=True), OnednnCase("lstm", projection=4)
BOTH_WAYS = OnednnCase("lstm", "concat")
GRU, LBR, AUGRU = OnednnCase("gru"), OnednnCase("lbr_gru"), OnednnCase("augru")
ONE_STEP, GRU_STEP = OnednnCase("lstm", steps=1), OnednnCase("gru", steps=1)
DIMENSIONS = {
    "D of weights": (LSTM, "weights_layer", (1, 2, 5, 4, 6), "(L, D, SLC, G, DHC)"),
    "D of both ways": (BOTH_WAYS, "weights_iter", (1, 1, 6, 4, 6), "(L, D, SIC, G, DHC)"),
    "D of states": (BOTH_WAYS, "src_iter", (1, 1, 3, 6), "(L, D, N, SIC)"),
    "DLC of one way": (LSTM, "dst_layer", (4, 3, 12), "(T, N, DLC)"),
    "DLC of concat": (BOTH_WAYS, "dst_layer", (4, 3, 6), "(T, N, DLC) = (4, 3, 12)"),
    "SLC of a stack": (LSTM, "weights_layer", (2, 1, 5, 4, 6), ""),
    "SLC of src_layer": (LSTM, "src_layer", (4, 3, 7), "(L, D, SLC, G, DHC) = (1, 1, 7, 4, 6)"),
    "SIC of weights": (LSTM, "weights_iter", (1, 1, 5, 4, 6), "(L, D, N, SIC) = (1, 1, 3, 5)"),
    "gates": (LSTM, "weights_layer", (1, 1, 5, 3, 6), "(L, D, SLC, G, DHC)"),
    "biases of lbr": (LBR, "bias", (1, 1, 3, 6), "(L, D, biases, DHC) = (1, 1, 4, 6)"),
    "biases of gru": (GRU, "bias", (1, 1, 4, 6), "(L, D, biases, DHC) = (1, 1, 3, 6)"),
    "peepholes": (PEEPHOLE, "weights_peephole", (1, 1, 4, 6), "(L, D, 3, DHC)"),
    "projection": (PROJECTION, "weights_projection", (1, 1, 5, 4), "(L, D, DHC, DIC)"),
    "rank": (LSTM, "src_layer", (4, 15), "3 dimensions"),
    "rank of weights": (LSTM, "weights_iter", (1, 6, 4, 6), "5 dimensions"),
    "rank of projection": (PROJECTION, "weights_projection", (1, 6, 4), "4 dimensions"),
    "N of a state": (LSTM, "dst_iter", (1, 1, 2, 6), "(L, D, N, DIC)"),
    "DHC of c": (PROJECTION, "src_iter_c", (1, 1, 3, 4), "(L, D, N, DHC)"),
    "DIC of a state": (PROJECTION, "dst_iter", (1, 1, 3, 6), "(L, D, N, DIC) = (1, 1, 3, 4)"),
    "attention": (AUGRU, "attention", (4, 3, 6), "(T, N, 1)"),
}


@pytest.mark.parametrize("rule", DIMENSIONS)
def test_dimensions(rule):
    case, name, dims, says = DIMENSIONS[rule]
    for prop_kind in (INFERENCE, BACKWARD):
        text = refused(case, prop_kind, INVALID, **{f"{name}_desc": tensor(*dims)})
        assert says in text


@pytest.mark.parametrize("name", ["src_layer", "weights_iter", "bias", "dst_iter"])
def test_a_gradient_has_the_dimensions_of_what_it_is_of(name):
    wrong = tensor(*(n + 1 for n in LSTM.dims()[name]))
    text = refused(LSTM, BACKWARD, INVALID, **{f"diff_{name}_desc": wrong})
    assert f"`diff_{name}_desc` must have the dimensions" in text


@pytest.mark.parametrize(
    ("case", "says"),
    [
        (OnednnCase("lstm", slc=5, layers=2), "SLC = DIC = 6 with several layers"),
        (OnednnCase("tanh", "concat", slc=12, layers=2), "SLC = DIC = 6 with several layers"),
        (OnednnCase("lstm", sic=5), "SIC = DIC = 6 with several steps"),
        (OnednnCase("gru", steps=1, sic=5), "SIC = DHC = 6 for GRU"),
        (OnednnCase("lbr_gru", steps=1, sic=5), "SIC = DHC = 6 for GRU"),
        (OnednnCase("augru", slc=6, layers=2), "L = 1 for AUGRU"),
        (OnednnCase("augru", "right2left"), "left2right for AUGRU"),
        (OnednnCase("lbr_augru", "concat"), "left2right for AUGRU"),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else value.cell,
)
def test_channels_layers_and_directions(case, says):
    run = without_reference(case)
    with pytest.raises(MiopyError, match=says) as caught:
        run.descriptor(TRAINING)
    assert caught.value.status == INVALID


@pytest.mark.parametrize("name", ["src_layer", "weights_layer", "weights_iter", "dst_layer"])
def test_what_must_be_there(name):
    absent = dn.dnnl_memory_desc_create_with_tag(0, None, dn.dnnl_f32, ANY)
    for missing in (None, absent):
        refused(GRU, INFERENCE, INVALID, **{f"{name}_desc": missing})
        refused(GRU, BACKWARD, INVALID, **{f"diff_{name}_desc": missing})


@pytest.mark.parametrize(
    ("case", "name", "prop_kind"),
    [
        (LSTM, "src_iter", INFERENCE),
        (LSTM, "src_iter_c", TRAINING),
        (LSTM, "dst_iter_c", INFERENCE),
        (LSTM, "diff_bias", BACKWARD),
        (LSTM, "bias", BACKWARD),
        (GRU, "diff_src_iter", BACKWARD),
        (GRU, "diff_dst_iter", BACKWARD),
        (PEEPHOLE, "diff_weights_peephole", BACKWARD),
        (PROJECTION, "diff_weights_projection", BACKWARD),
        (AUGRU, "diff_attention", BACKWARD),
    ],
)
def test_what_must_be_there_together(case, name, prop_kind):
    assert "must be given with" in refused(case, prop_kind, INVALID, **{f"{name}_desc": None})


def test_attention_may_be_missing_until_execution():
    """As in oneDNN: a primitive without it is made, and cannot be executed."""
    run = OnednnRun(AUGRU, "host")
    primitive = dn.dnnl_primitive_create(run.descriptor(INFERENCE, attention_desc=None))
    with pytest.raises(MiopyError) as caught:
        dn.dnnl_primitive_execute(primitive, run.stream, 0, {})
    assert caught.value.status == INVALID
    refused(AUGRU, BACKWARD, INVALID, attention_desc=None, diff_attention_desc=None)


@pytest.mark.parametrize("kind", [0, 128, 160, 192, 7])
def test_forward_is_for_training_or_inference(kind):
    refused(LSTM, TRAINING, INVALID, prop_kind=kind)


@pytest.mark.parametrize("kind", [0, 64, 96, 160, 192])
def test_backward_is_all_of_it(kind):
    refused(LSTM, BACKWARD, INVALID, prop_kind=kind)


@pytest.mark.parametrize("direction", [0, 5, -1])
def test_directions(direction):
    refused(LSTM, INFERENCE, INVALID, direction=direction)


@pytest.mark.parametrize("activation", [0, 0x22, dn.dnnl_vanilla_lstm])
def test_activations(activation):
    refused(OnednnCase("tanh"), INFERENCE, INVALID, activation=activation)


def test_flags_that_are_not_known_are_ignored():
    assert OnednnRun(LSTM, "host").descriptor(BACKWARD, flags=0xFE) is not None


BF16, F16, U8, S8 = dn.dnnl_bf16, dn.dnnl_f16, dn.dnnl_u8, dn.dnnl_s8
TYPES = {
    "bf16 bias beside f32": (LSTM, INFERENCE, "bias", BF16),
    "mixed weights": (LSTM, INFERENCE, "weights_iter", BF16),
    "s32 data": (LSTM, INFERENCE, "src_layer", dn.dnnl_s32),
    "f64 data": (LSTM, INFERENCE, "src_layer", dn.dnnl_f64),
    "u8 training": (LSTM, TRAINING, "src_layer", U8),
    "u8 vanilla": (OnednnCase("tanh"), INFERENCE, "src_layer", U8),
    "u8 lbr": (LBR, INFERENCE, "src_layer", U8),
    "u8 peephole": (PEEPHOLE, INFERENCE, "src_layer", U8),
    "s8 gru": (GRU, INFERENCE, "src_layer", S8),
    "u8 with f32 weights": (LSTM, INFERENCE, "src_layer", U8),
    "f16 backward": (OnednnCase("lstm", dtype="float16"), BACKWARD, "src_layer", F16),
    "bf16 peephole": (PEEPHOLE, INFERENCE, "weights_peephole", BF16),
    "bf16 gradient": (OnednnCase("gru", dtype="bfloat16"), BACKWARD, "diff_bias", BF16),
    "two types of c": (OnednnCase("lstm", dtype="bfloat16"), INFERENCE, "dst_iter_c", dn.dnnl_f32),
}


@pytest.mark.parametrize("what", TYPES)
def test_types(what):
    case, prop_kind, name, data_type = TYPES[what]
    wrong = tensor(*case.dims()[name.removeprefix("diff_")], data_type=data_type)
    refused(case, prop_kind, UNIMPLEMENTED, **{f"{name}_desc": wrong})


def apart(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Strides twice those of a dense tensor: no channel beside another."""
    return tuple(
        2 * stride
        for stride in dn.dnnl_memory_desc_query(
            dn.dnnl_memory_desc_create_with_strides(len(dims), dims, dn.dnnl_f32, None),
            dn.dnnl_query_strides,
        )
    )


@pytest.mark.parametrize(
    "name", ["src_layer", "dst_layer", "src_iter", "weights_layer", "weights_iter", "bias"]
)
def test_layouts_of_elements_apart(name):
    dims = LSTM.dims()[name]
    text = refused(LSTM, INFERENCE, UNIMPLEMENTED, **{f"{name}_desc": strided(dims, apart(dims))})
    assert f"`{name}_desc`" in text


def test_other_layouts():
    dims = LSTM.dims()["bias"]
    gapped = strided(dims, tuple(gapped_strides(dims)))
    refused(LSTM, INFERENCE, UNIMPLEMENTED, bias_desc=gapped)
    gates_outside = strided(LSTM.dims()["weights_iter"], (144, 144, 6, 36, 1))
    refused(LSTM, INFERENCE, UNIMPLEMENTED, weights_iter_desc=gates_outside)
    repeated = strided(LSTM.dims()["dst_layer"], (0, 6, 1))
    refused(LSTM, INFERENCE, UNIMPLEMENTED, dst_layer_desc=repeated)


def test_runtime_dimensions():
    unknown = dn.dnnl_memory_desc_create_with_tag(
        3, (dn.DNNL_RUNTIME_DIM_VAL, 3, 5), dn.dnnl_f32, dn.dnnl_tnc
    )
    refused(LSTM, INFERENCE, UNIMPLEMENTED, src_layer_desc=unknown)


@pytest.mark.parametrize("sizes", [{"slc": 0}, {"dhc": 0}, {"projection": 3, "slc": 0}], ids=str)
def test_tensors_without_channels(sizes):
    run = without_reference(OnednnCase("lstm", **sizes))
    with pytest.raises(MiopyError, match="must have channels") as caught:
        run.descriptor(TRAINING)
    assert caught.value.status == UNIMPLEMENTED


@pytest.mark.parametrize("which", ["data", "weights", "weights_projection"])
def test_quantization_of_numbers_that_are_not_8_bit(which):
    attr = dn.dnnl_primitive_attr_create()
    setter = getattr(dn, f"dnnl_primitive_attr_set_rnn_{which}_qparams")
    setter(attr, *((2.0, 1.0) if which == "data" else (1, 0, [2.0])))
    refused(PROJECTION, INFERENCE, UNIMPLEMENTED, attr=attr)


def test_a_bad_setting_is_named(monkeypatch):
    monkeypatch.setenv("MIOPY_ONEDNN_EXACT", "yes")
    said = refused(AUGRU, INFERENCE, INVALID)
    assert said.endswith("`MIOPY_ONEDNN_EXACT` must be 0 or 1, got 'yes'")


def test_an_empty_setting_counts_as_unset(monkeypatch):
    monkeypatch.setenv("MIOPY_ONEDNN_EXACT", "")
    without_reference(AUGRU).descriptor(INFERENCE)
