"""oneDNN's RNNs in the words of version 2: its names and values, its stages of checks, its flow."""

from __future__ import annotations

import inspect
import json
from typing import Any

import numpy as np
import pytest
from headers import ROOT

from miopy import onednn
from miopy.errors import BadParam, MiopyError, NotSupported

v2 = onednn.v2
FACTS = json.loads((ROOT / "tests/data/onednn_v2_api.json").read_text())
STEPS, BATCH, WIDTH = 3, 2, 4
CELLS = {  # gates, and biases
    **{"vanilla_rnn": (1, 1), "lstm": (4, 4), "gru": (3, 3), "lbr_gru": (3, 4)},
    **{"augru": (3, 3), "lbr_augru": (3, 4)},
}


@pytest.mark.parametrize("name", FACTS["parameters"])
def test_a_function_takes_what_it_takes_in_version_2(name: str) -> None:
    assert list(inspect.signature(getattr(v2, name)).parameters) == FACTS["parameters"][name]


def test_functions_are_those_of_the_header() -> None:
    functions = {name for name in v2.__all__ if inspect.isfunction(getattr(v2, name))}
    assert functions == set(FACTS["functions"])


RENUMBERED = [
    name
    for name in FACTS["enums"]
    if name in v2.__all__ and getattr(v2, name) is not getattr(onednn, name)
]


def test_five_enumerations_have_values_of_their_own() -> None:
    assert len(RENUMBERED) == 5


@pytest.mark.parametrize("name", RENUMBERED)
def test_enumerations_have_the_values_of_version_2(name: str) -> None:
    members = getattr(v2, name).__members__
    assert {key: member.value for key, member in members.items()} == FACTS["enums"][name]
    for key, value in FACTS["enums"][name].items():
        assert getattr(v2, key) == value and key in v2.__all__


def test_what_version_3_renumbered_is_found_by_name() -> None:
    assert [v2.dnnl_unidirectional, v2.dnnl_bidirectional_sum, v2.dnnl_ntc] == [0, 3, 23]
    assert not hasattr(v2, "dnnl_rnn_direction_undef") and v2.dnnl_rnn == 14
    assert v2.dnnl_f32 is onednn.dnnl_f32 and v2.DNNL_ARG_BIAS == 41
    assert tuple(v2.dnnl_version())[:3] == (2, 6, 0)


def desc(*dims: int, tag: int = v2.dnnl_format_tag_any, data_type: int = v2.dnnl_f32) -> Any:
    return v2.dnnl_memory_desc_init_by_tag(len(dims), dims, data_type, tag)


class Flow:
    """A cell of one layer and direction: its tensors, and calls with some of them replaced."""

    def __init__(self, cell: str) -> None:
        self.cell = cell
        gates, biases = CELLS[cell]
        layer, state = desc(STEPS, BATCH, WIDTH), desc(1, 1, BATCH, WIDTH)
        matrix = desc(1, 1, WIDTH, gates, WIDTH)
        self.tensors = {
            **{"src_layer": layer, "src_iter": state, "src_iter_c": state},
            **{"attention": desc(STEPS, BATCH, 1), "weights_layer": matrix},
            **{"weights_iter": matrix, "weights_peephole": None, "weights_projection": None},
            **{"bias": desc(1, 1, biases, WIDTH), "dst_layer": layer, "dst_iter": state},
            "dst_iter_c": state,
        }

    def init(self, way: str = "forward", generation: str = "", **changes: Any) -> Any:
        """The operation of a desc_init function of version 2."""
        function = getattr(v2, f"dnnl_{self.cell}_{way}_desc_init{generation}")
        given = {f"{name}_desc": value for name, value in self.tensors.items()}
        given |= {f"diff_{name}": value for name, value in given.items()}
        kind = v2.dnnl_backward if way == "backward" else v2.dnnl_forward_training
        given |= {"prop_kind": kind, "direction": v2.dnnl_unidirectional_left2right}
        given |= {"activation": v2.dnnl_eltwise_tanh, "flags": 0, "alpha": 0.0, "beta": 0.0}
        given |= changes
        return function(*(given[name] for name in inspect.signature(function).parameters))


def statuses(flow: Flow, way: str, **changes: Any) -> tuple[int, int | None]:
    """Of desc_init, and of dnnl_primitive_desc_create if that is reached."""
    try:
        operation = flow.init(way, **changes)
    except MiopyError as error:
        assert str(error).startswith(f"dnnl_{flow.cell}_{way}_desc_init")
        return int(error.status), None
    try:
        v2.dnnl_primitive_desc_create(operation, None, engine())
    except MiopyError as error:
        return 0, int(error.status)
    return 0, 0


def engine() -> Any:
    return v2.dnnl_engine_create(v2.dnnl_cpu, 0)


INVALID, UNSUPPORTED = 2, 3
WRONG = [
    ({"prop_kind": 0}, (0, UNSUPPORTED)),
    ({"prop_kind": 160}, (0, UNSUPPORTED)),
    ({"prop_kind": -1}, (INVALID, None)),
    ({"direction": 4}, (INVALID, None)),
    ({"direction": onednn.dnnl_unidirectional_left2right}, (INVALID, None)),  # of version 3
    ({"direction": v2.dnnl_bidirectional_sum}, (INVALID, None)),
    ({"src_layer_desc": None}, (INVALID, None)),
    ({"src_iter_desc": None}, (INVALID, None)),
    ({"src_layer_desc": desc(STEPS, BATCH, WIDTH + 1)}, (INVALID, None)),
    ({"bias_desc": desc(1, 1, 5, WIDTH)}, (INVALID, None)),
    ({"src_layer_desc": desc(STEPS, BATCH, WIDTH, data_type=v2.dnnl_bf16)}, (UNSUPPORTED, None)),
    ({"weights_layer_desc": desc(1, 1, WIDTH, 4, WIDTH, tag=v2.dnnl_abced)}, (0, UNSUPPORTED)),
    ({"bias_desc": desc(1, 1, 4, WIDTH, tag=v2.dnnl_abdc)}, (0, UNSUPPORTED)),
    ({"flags": 0xFF}, (0, 0)),
]


@pytest.mark.parametrize("way", ["forward", "backward"])
@pytest.mark.parametrize(("changes", "expected"), WRONG)
def test_what_is_wrong_shows_where_it_does_in_version_2(
    changes: dict[str, Any], expected: tuple[int, int | None], way: str
) -> None:
    ((name, value),) = changes.items()
    if way == "backward" and name.endswith("_desc"):
        changes = {name: value, f"diff_{name}": value}
    assert statuses(Flow("lstm"), way, **changes) == expected


def test_forward_is_no_backward_and_backward_no_forward() -> None:
    flow = Flow("gru")
    assert statuses(flow, "forward", prop_kind=v2.dnnl_backward) == (INVALID, None)
    assert statuses(flow, "backward", prop_kind=v2.dnnl_forward_training) == (INVALID, None)


@pytest.mark.parametrize("value", [0, 0x20, 0x3F, 0x1FFF, onednn.dnnl_eltwise_tanh])
def test_activations_have_the_values_of_version_2(value: int) -> None:
    assert statuses(Flow("vanilla_rnn"), "forward", activation=value) == (INVALID, None)
    assert Flow("vanilla_rnn").init(activation=0xAF).activation_kind == v2.dnnl_eltwise_logistic


def test_tags_have_the_values_of_version_2() -> None:
    ntc = v2.dnnl_memory_desc_init_by_tag(3, (5, 3, 4), v2.dnnl_f32, 23)
    assert v2.dnnl_memory_desc_equal(
        ntc, v2.dnnl_memory_desc_init_by_strides(3, (5, 3, 4), v2.dnnl_f32, (4, 20, 1))
    )
    with pytest.raises(BadParam, match="`tag` must be a dnnl_format_tag_t"):
        desc(5, 3, 4, tag=onednn.dnnl_ntc)
    with pytest.raises(BadParam, match=r"^dnnl_memory_desc_init_by_tag: `dims"):
        desc(5, -3, 4)


def test_an_operation_tells_what_it_is() -> None:
    operation = Flow("vanilla_rnn").init(direction=v2.dnnl_unidirectional_right2left, alpha=0.25)
    created = v2.dnnl_primitive_desc_create(operation, None, engine())
    found = v2.dnnl_primitive_desc_query(created, v2.dnnl_query_rnn_d)
    for each in (operation, found):
        assert (each.primitive_kind, each.cell_kind) == (v2.dnnl_rnn, v2.dnnl_vanilla_rnn)
        assert each.direction is v2.dnnl_unidirectional_right2left
        assert each.activation_kind is v2.dnnl_eltwise_tanh
        assert (each.prop_kind, each.alpha, each.beta) == (v2.dnnl_forward_training, 0.25, 0.0)


def test_queries_are_those_of_version_2() -> None:
    created = v2.dnnl_primitive_desc_create(Flow("lstm").init(), None, engine())
    query = v2.dnnl_primitive_desc_query
    assert query(created, v2.dnnl_query_primitive_kind) is v2.dnnl_rnn
    assert query(created, v2.dnnl_query_prop_kind) == v2.dnnl_forward_training
    inputs = v2.dnnl_primitive_desc_query_s32(created, v2.dnnl_query_num_of_inputs_s32)
    assert inputs == query(created, v2.dnnl_query_num_of_inputs_s32) == 6
    weights = v2.dnnl_primitive_desc_query_md(created, v2.dnnl_query_weights_md, 1)
    assert v2.dnnl_memory_desc_get_size(weights) >= 256
    for what in (v2.dnnl_query_rnn_d, onednn.dnnl_query_weights_md, 256):
        with pytest.raises(BadParam):
            v2.dnnl_primitive_desc_query_md(created, what)


def test_a_reorder_has_no_operation() -> None:
    first, second = desc(2, 3, 4, tag=v2.dnnl_tnc), desc(2, 3, 4, tag=v2.dnnl_ntc)
    reorder = v2.dnnl_reorder_primitive_desc_create(first, engine(), second, engine(), None)
    with pytest.raises(NotSupported):
        v2.dnnl_primitive_desc_query(reorder, v2.dnnl_query_rnn_d)


def test_an_operation_is_needed() -> None:
    for wrong in (None, desc(2, 3, 4)):
        with pytest.raises(BadParam, match="`op_desc` must be a dnnl_rnn_desc_t"):
            v2.dnnl_primitive_desc_create(wrong, None, engine())


def test_all_generations_of_lstm_are_one() -> None:
    flow, sizes = Flow("lstm"), set()
    for generation in ("", "_v2", "_v3"):
        for direction in ("forward", "backward"):
            operation = flow.init(direction, generation)
            created = v2.dnnl_primitive_desc_create(operation, None, engine())
            workspace = v2.dnnl_primitive_desc_query_md(created, v2.dnnl_query_workspace_md)
            sizes.add(v2.dnnl_memory_desc_get_size(workspace))
    assert len(sizes) == 1
    peephole = {"weights_peephole_desc": desc(1, 1, 3, WIDTH)}
    assert flow.init("forward", "_v2", **peephole).descriptor.tensors.keys() >= {"weights_peephole"}
    projected = desc(STEPS, BATCH, 3), desc(1, 1, BATCH, 3), desc(1, 1, 3, 4, WIDTH)
    layer, state, matrix = projected
    operation = flow.init(
        "forward",
        "_v3",
        weights_projection_desc=desc(1, 1, WIDTH, 3),
        **{"dst_layer_desc": layer, "dst_iter_desc": state, "src_iter_desc": state},
        weights_iter_desc=matrix,
    )
    assert v2.dnnl_primitive_desc_create(operation, None, engine())


def created_by_version_3(flow: Flow, home: Any) -> list[Any]:
    """Forward and backward, created in the words of version 3."""
    create = f"dnnl_{flow.cell}_{{}}_primitive_desc_create"
    forward, backward = (getattr(onednn, create.format(way)) for way in ("forward", "backward"))
    taken = inspect.signature(forward).parameters
    descs = [flow.tensors[name[:-5]] for name in taken if name.endswith("_desc")]
    vanilla = flow.cell == "vanilla_rnn"
    first = [onednn.dnnl_eltwise_tanh] * vanilla + [onednn.dnnl_unidirectional_left2right]
    scalars = [0, *[0.0, 0.0] * vanilla]
    return [
        forward(home, onednn.dnnl_forward_training, *first, *descs, *scalars, None),
        backward(home, onednn.dnnl_backward, *first, *descs, *descs, *scalars, None, None),
    ]


def trained(passes: list[Any], home: Any) -> dict[int, np.ndarray]:
    """All tensors by index after forward and backward, which begin with the same numbers."""
    rng, arrays = np.random.default_rng(1), {}
    stream = v2.dnnl_stream_create(home, v2.dnnl_stream_default_flags)
    for index in (*range(1, 5), *range(17, 20), *range(33, 42), *range(129, 170)):
        wanted = v2.dnnl_primitive_desc_query_md(passes[1], v2.dnnl_query_exec_arg_md, index)
        dims = onednn.dnnl_memory_desc_query(wanted, onednn.dnnl_query_dims)
        if dims:
            arrays[index] = rng.standard_normal(dims).astype(np.float32)
    workspace = v2.dnnl_primitive_desc_query_md(passes[0], v2.dnnl_query_workspace_md)
    memory = v2.dnnl_memory_create(workspace, home, v2.DNNL_MEMORY_ALLOCATE)
    for each in passes:
        primitive = v2.dnnl_primitive_create(each)
        args = arrays | {v2.DNNL_ARG_WORKSPACE: memory}
        v2.dnnl_primitive_execute(primitive, stream, len(args), args)
    return arrays


@pytest.mark.parametrize("cell", CELLS)
def test_both_versions_compute_the_same(cell: str) -> None:
    home, flow = engine(), Flow(cell)
    generation = "_v3" if cell == "lstm" else ""
    operations = [flow.init(way, generation) for way in ("forward", "backward")]
    old = [v2.dnnl_primitive_desc_create(each, None, home) for each in operations]
    found, expected = trained(old, home), trained(created_by_version_3(flow, home), home)
    assert found.keys() == expected.keys() and v2.DNNL_ARG_DIFF_BIAS in found
    for index, array in found.items():
        np.testing.assert_array_equal(array, expected[index], str(index))
    last, state = found[v2.DNNL_ARG_DST_LAYER][-1], found[v2.DNNL_ARG_DST_ITER]
    np.testing.assert_array_equal(last, state[0, 0])
