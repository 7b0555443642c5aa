"""oneDNN's engines, streams, memory descriptors, memory, attributes and queries."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from onednn_harness import OnednnCase
from onednn_run import ENGINES, OnednnRun

from miopy import onednn as dn
from miopy.errors import MiopyError

INVALID, UNIMPLEMENTED = dn.dnnl_invalid_arguments, dn.dnnl_unimplemented


def fails(status: int, function: Any, *arguments: Any) -> str:
    """The message of the error that a call raises."""
    with pytest.raises(MiopyError) as caught:
        function(*arguments)
    assert caught.value.status == status
    assert str(caught.value).startswith(f"{function.__name__}: `")
    return str(caught.value)


def tagged(dims: tuple[int, ...], tag: int, data_type: int = dn.dnnl_f32) -> Any:
    return dn.dnnl_memory_desc_create_with_tag(len(dims), dims, data_type, tag)


def strides(descriptor: Any) -> tuple[int, ...]:
    return dn.dnnl_memory_desc_query(descriptor, dn.dnnl_query_strides)


@pytest.fixture
def engine(backend: str) -> Any:
    return dn.dnnl_engine_create(ENGINES[backend], 0)


def test_engines_and_streams(backend, engine):
    assert dn.dnnl_engine_get_kind(engine) == ENGINES[backend]
    assert dn.dnnl_engine_get_count(ENGINES[backend]) == 1
    stream = dn.dnnl_stream_create(engine, dn.dnnl_stream_default_flags)
    assert dn.dnnl_stream_get_engine(stream) is engine
    dn.dnnl_stream_wait(stream)
    dn.dnnl_stream_destroy(stream)
    assert "destroyed" in fails(INVALID, dn.dnnl_stream_wait, stream)
    dn.dnnl_engine_destroy(engine)
    fails(INVALID, dn.dnnl_stream_create, engine, dn.dnnl_stream_default_flags)


def test_engines_that_are_not_there():
    assert dn.dnnl_engine_get_count(dn.dnnl_any_engine) == 0
    fails(INVALID, dn.dnnl_engine_create, dn.dnnl_any_engine, 0)
    fails(INVALID, dn.dnnl_engine_create, 3, 0)
    fails(INVALID, dn.dnnl_engine_create, dn.dnnl_cpu, 1)


def test_a_missing_gpu_says_why(monkeypatch):
    from miopy.backends import cuda

    monkeypatch.setattr(cuda, "why_missing", lambda: "there is no driver")
    assert dn.dnnl_engine_get_count(dn.dnnl_gpu) == 0
    assert "there is no driver" in fails(INVALID, dn.dnnl_engine_create, dn.dnnl_gpu, 0)


@pytest.mark.parametrize(
    ("tag", "dims", "expected"),
    [
        (dn.dnnl_tnc, (4, 3, 5), (15, 5, 1)),
        (dn.dnnl_ntc, (4, 3, 5), (5, 20, 1)),
        (dn.dnnl_ldnc, (2, 1, 3, 5), (15, 15, 5, 1)),
        (dn.dnnl_ldigo, (2, 1, 5, 4, 3), (60, 60, 12, 3, 1)),
        (dn.dnnl_ldgoi, (2, 1, 5, 4, 3), (60, 60, 1, 15, 5)),
        (dn.dnnl_ldoi, (2, 1, 5, 3), (15, 15, 1, 5)),
        (dn.dnnl_cba, (4, 3, 5), (1, 4, 12)),
    ],
)
def test_tags_are_orders_of_dimensions(tag, dims, expected):
    descriptor = tagged(dims, tag)
    assert strides(descriptor) == expected
    assert dn.dnnl_memory_desc_get_size(descriptor) == 4 * np.prod(dims)


def test_names_of_one_order_are_one_tag():
    assert dn.dnnl_tnc == dn.dnnl_abc and dn.dnnl_ldgoi == dn.dnnl_abdec
    assert dn.dnnl_ldgo == dn.dnnl_ldio == dn.dnnl_ldnc == dn.dnnl_abcd


def test_queries_of_memory_descriptors():
    descriptor = tagged((2, 3), dn.dnnl_ba, dn.dnnl_bf16)
    query = dn.dnnl_memory_desc_query
    assert query(descriptor, dn.dnnl_query_ndims_s32) == 2
    assert query(descriptor, dn.dnnl_query_dims) == (2, 3)
    assert query(descriptor, dn.dnnl_query_padded_dims) == (2, 3)
    assert query(descriptor, dn.dnnl_query_padded_offsets) == (0, 0)
    assert query(descriptor, dn.dnnl_query_data_type) == dn.dnnl_bf16
    assert query(descriptor, dn.dnnl_query_format_kind) == dn.dnnl_blocked
    assert query(descriptor, dn.dnnl_query_inner_nblks_s32) == 0
    fails(INVALID, query, descriptor, dn.dnnl_query_direction)
    open_ = tagged((2, 3), dn.dnnl_format_tag_any)
    assert query(open_, dn.dnnl_query_format_kind) == dn.dnnl_format_kind_any
    assert dn.dnnl_memory_desc_get_size(open_) == 0
    fails(INVALID, query, open_, dn.dnnl_query_strides)


def test_sizes_count_the_gap_behind_the_last_row():
    create = dn.dnnl_memory_desc_create_with_strides
    assert dn.dnnl_memory_desc_get_size(create(2, (3, 5), dn.dnnl_f32, (8, 1))) == 4 * 24
    assert dn.dnnl_memory_desc_get_size(create(2, (3, 0), dn.dnnl_f32, None)) == 0
    assert dn.dnnl_memory_desc_get_size(None) == 0
    runtime = create(2, (3, dn.DNNL_RUNTIME_DIM_VAL), dn.dnnl_f32, None)
    assert dn.dnnl_memory_desc_get_size(runtime) == 2**63


@pytest.mark.parametrize("tag", [dn.dnnl_abc, dn.dnnl_format_tag_any])
def test_sizes_that_c_cannot_tell(tag):
    create, huge = dn.dnnl_memory_desc_create_with_tag, 2**31
    assert create(3, (huge, 2**30 - 1, 1), dn.dnnl_f32, tag) is not None
    for dims in ((huge, 2**30, 1), (huge, huge, huge), (0, huge, huge)):
        fails(INVALID, create, 3, dims, dn.dnnl_f32, tag)
    strided = dn.dnnl_memory_desc_create_with_strides
    fails(INVALID, strided, 2, (2, 3), dn.dnnl_f32, (2**62, 1))


@pytest.mark.parametrize("prop_kind", [dn.dnnl_forward_training, dn.dnnl_forward_inference])
def test_sizes_of_workspace_and_scratchpad_that_c_cannot_tell(prop_kind):
    engine = dn.dnnl_engine_create(dn.dnnl_cpu, 0)
    data = tagged((2**31, 2**29, 1), dn.dnnl_abc)
    weights = tagged((1, 1, 1, 3, 1), dn.dnnl_abcde)
    create, direction = dn.dnnl_gru_forward_primitive_desc_create, dn.dnnl_unidirectional_left2right
    tensors = data, None, weights, weights, None, data, None
    message = fails(dn.dnnl_out_of_memory, create, engine, prop_kind, direction, *tensors, 0, None)
    assert "at most 9223372036854775807 bytes" in message


def test_equality_is_of_the_memory():
    create, equal = dn.dnnl_memory_desc_create_with_strides, dn.dnnl_memory_desc_equal
    descriptor = tagged((1, 3), dn.dnnl_ab)
    assert equal(descriptor, dn.dnnl_memory_desc_clone(descriptor)) == 1
    assert equal(descriptor, create(2, (1, 3), dn.dnnl_f32, (99, 1))) == 1
    assert equal(descriptor, create(2, (1, 3), dn.dnnl_f32, (9, 3))) == 0
    assert equal(descriptor, tagged((1, 3), dn.dnnl_ab, dn.dnnl_f16)) == 0
    assert equal(None, None) == 1 and equal(None, descriptor) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        (13, (1,) * 13, dn.dnnl_f32, dn.dnnl_a),
        (-1, (1,), dn.dnnl_f32, dn.dnnl_a),
        (2, (1, -1), dn.dnnl_f32, dn.dnnl_ab),
        (2, (1,), dn.dnnl_f32, dn.dnnl_ab),
        (2, None, dn.dnnl_f32, dn.dnnl_ab),
        (2, (1, 1), dn.dnnl_data_type_undef, dn.dnnl_ab),
        (2, (1, 1), 99, dn.dnnl_ab),
        (2, (1, 1), dn.dnnl_f32, dn.dnnl_abc),
        (2, (1, 1), dn.dnnl_f32, 9999),
    ],
)
def test_memory_descriptors_that_cannot_be(arguments):
    fails(INVALID, dn.dnnl_memory_desc_create_with_tag, *arguments)


def test_strides_keep_elements_apart():
    create = dn.dnnl_memory_desc_create_with_strides
    fails(INVALID, create, 2, (3, 5), dn.dnnl_f32, (4, 1))
    assert strides(create(2, (3, 5), dn.dnnl_f32, (0, 1))) == (0, 1)


def test_memory_has_a_handle(engine):
    descriptor = tagged((2, 3), dn.dnnl_ab)
    memory = dn.dnnl_memory_create(descriptor, engine, dn.DNNL_MEMORY_NONE)
    assert dn.dnnl_memory_get_data_handle(memory) is None
    assert dn.dnnl_memory_map_data(memory) is None
    array = np.arange(6, dtype=np.float32)
    dn.dnnl_memory_set_data_handle(memory, array)
    assert dn.dnnl_memory_get_data_handle(memory) is array
    assert dn.dnnl_memory_get_engine(memory) is engine
    assert dn.dnnl_memory_desc_equal(dn.dnnl_memory_get_memory_desc(memory), descriptor)
    mapped = dn.dnnl_memory_map_data(memory)
    assert ctypes.string_at(mapped, 24) == array.tobytes()
    dn.dnnl_memory_unmap_data(memory, mapped)
    dn.dnnl_memory_destroy(memory)
    fails(INVALID, dn.dnnl_memory_get_data_handle, memory)


def test_memory_that_is_allocated(engine):
    descriptor = tagged((5,), dn.dnnl_a, dn.dnnl_u8)
    memory = dn.dnnl_memory_create(descriptor, engine, dn.DNNL_MEMORY_ALLOCATE)
    for content in (b"first", b"again"):
        mapped = dn.dnnl_memory_map_data(memory)
        ctypes.memmove(mapped, content, 5)
        dn.dnnl_memory_unmap_data(memory, mapped)
        mapped = dn.dnnl_memory_map_data(memory)
        assert ctypes.string_at(mapped, 5) == content
        dn.dnnl_memory_unmap_data(memory, mapped)


def test_memory_needs_a_layout(engine):
    open_ = tagged((2, 3), dn.dnnl_format_tag_any)
    assert "query the primitive" in fails(INVALID, dn.dnnl_memory_create, open_, engine, None)


def test_attributes_are_kept():
    attr = dn.dnnl_primitive_attr_create()
    library = dn.dnnl_primitive_attr_clone(attr)
    dn.dnnl_primitive_attr_set_scratchpad_mode(attr, dn.dnnl_scratchpad_mode_user)
    dn.dnnl_primitive_attr_set_fpmath_mode(attr, dn.dnnl_fpmath_mode_bf16)
    get_mode = dn.dnnl_primitive_attr_get_scratchpad_mode
    assert get_mode(attr) == dn.dnnl_scratchpad_mode_user
    assert get_mode(library) == dn.dnnl_scratchpad_mode_library
    assert dn.dnnl_primitive_attr_get_fpmath_mode(attr) == dn.dnnl_fpmath_mode_bf16
    dn.dnnl_primitive_attr_destroy(attr)
    fails(INVALID, get_mode, attr)


def test_quantization_parameters():
    attr = dn.dnnl_primitive_attr_create()
    assert dn.dnnl_primitive_attr_get_rnn_data_qparams(attr) == (1.0, 0.0)
    dn.dnnl_primitive_attr_set_rnn_data_qparams(attr, 100.1, 64)
    assert dn.dnnl_primitive_attr_get_rnn_data_qparams(attr) == (np.float32(100.1), 64.0)
    for which in ("weights", "weights_projection"):
        getter = getattr(dn, f"dnnl_primitive_attr_get_rnn_{which}_qparams")
        setter = getattr(dn, f"dnnl_primitive_attr_set_rnn_{which}_qparams")
        assert getter(attr) == (1, 0, (1.0,))
        setter(attr, 2, 8, np.array([2, 3], np.float32))
        assert getter(attr) == (2, 8, (2.0, 3.0))
        for count, mask, scales in ((0, 0, [1.0]), (-1, 0, [1.0]), (1, -1, [1.0]), (1, 0, None)):
            fails(INVALID, setter, attr, count, mask, scales)
        fails(INVALID, setter, attr, 3, 8, [1.0])
        assert getter(attr) == (2, 8, (2.0, 3.0))


def test_a_mask_is_taken_as_it_is_now():
    attr, mask = dn.dnnl_primitive_attr_create(), np.array(0)
    dn.dnnl_primitive_attr_set_rnn_weights_qparams(attr, 1, mask, [1.0])
    mask[...] = 24
    assert dn.dnnl_primitive_attr_get_rnn_weights_qparams(attr) == (1, 0, (1.0,))


def test_queries_of_primitive_descriptors():
    run = OnednnRun(OnednnCase("lstm", "sum", projection=4), "host", user_scratchpad=False)
    query = dn.dnnl_primitive_desc_query
    forward, backward = map(run.descriptor, (dn.dnnl_forward_training, dn.dnnl_backward))
    assert query(forward, dn.dnnl_query_num_of_inputs_s32) == 3 + 4
    assert query(forward, dn.dnnl_query_num_of_outputs_s32) == 1 + 3
    assert query(backward, dn.dnnl_query_num_of_inputs_s32) == 6 + 4 + 4
    assert query(backward, dn.dnnl_query_num_of_outputs_s32) == 3 + 4
    assert dn.dnnl_primitive_desc_query_s32(forward, dn.dnnl_query_num_of_inputs_s32) == 7
    assert query(forward, dn.dnnl_query_cell_kind) == dn.dnnl_vanilla_lstm
    assert query(forward, dn.dnnl_query_direction) == dn.dnnl_bidirectional_sum
    assert query(backward, dn.dnnl_query_prop_kind) == dn.dnnl_backward
    assert query(forward, dn.dnnl_query_primitive_kind) == dn.dnnl_rnn
    assert query(forward, dn.dnnl_query_engine) is run.engine
    assert query(forward, dn.dnnl_query_impl_info_str) == "miopy:host"
    assert query(forward, dn.dnnl_query_memory_consumption_s64) > 0
    fails(UNIMPLEMENTED, query, forward, dn.dnnl_query_flags)
    fails(dn.dnnl_last_impl_reached, dn.dnnl_primitive_desc_next_impl, forward)


def test_queries_for_memory_descriptors():
    run = OnednnRun(OnednnCase("lstm", projection=4, absent=("dst_iter",)), "host")
    forward, query = run.descriptor(dn.dnnl_forward_training), dn.dnnl_primitive_desc_query_md
    dims = run.case.dims()

    def found(what: int, index: int = 0) -> tuple[int, ...]:
        return dn.dnnl_memory_desc_query(query(forward, what, index), dn.dnnl_query_dims)

    assert found(dn.dnnl_query_src_md) == dims["src_layer"]
    assert found(dn.dnnl_query_src_md, 2) == dims["src_iter_c"]
    assert found(dn.dnnl_query_weights_md, 1) == dims["weights_iter"]
    assert found(dn.dnnl_query_weights_md, 2) == dims["weights_projection"]
    assert found(dn.dnnl_query_weights_md, 3) == dims["bias"]
    assert found(dn.dnnl_query_dst_md) == dims["dst_layer"]
    assert found(dn.dnnl_query_dst_md, 1) == ()
    assert found(dn.dnnl_query_exec_arg_md, dn.DNNL_ARG_BIAS) == dims["bias"]
    assert found(dn.dnnl_query_exec_arg_md, 77) == ()
    assert len(found(dn.dnnl_query_workspace_md)) == len(found(dn.dnnl_query_scratchpad_md)) == 1
    assert query(forward, dn.dnnl_query_cell_kind, 0) is None
    inference = run.descriptor(dn.dnnl_forward_inference)
    assert dn.dnnl_memory_desc_get_size(query(inference, dn.dnnl_query_workspace_md, 0)) == 0


def test_what_was_made_outlives_its_descriptors():
    engine = dn.dnnl_engine_create(dn.dnnl_cpu, 0)
    source, target = tagged((2, 3), dn.dnnl_ab), tagged((2, 3), dn.dnnl_ba)
    memory = dn.dnnl_memory_create(source, engine, None)
    descriptor = dn.dnnl_reorder_primitive_desc_create(source, engine, target, engine, None)
    copy = dn.dnnl_primitive_desc_clone(descriptor)
    primitive = dn.dnnl_primitive_create(descriptor)
    for each in (source, target):
        dn.dnnl_memory_desc_destroy(each)
    dn.dnnl_primitive_desc_destroy(descriptor)
    fails(INVALID, dn.dnnl_primitive_create, descriptor)
    assert strides(dn.dnnl_memory_get_memory_desc(memory)) == (3, 1)
    for known in (copy, dn.dnnl_primitive_get_primitive_desc(primitive)):
        assert strides(dn.dnnl_primitive_desc_query_md(known, dn.dnnl_query_dst_md, 0)) == (1, 2)
    dn.dnnl_primitive_destroy(primitive)
    stream = dn.dnnl_stream_create(engine, dn.dnnl_stream_default_flags)
    fails(INVALID, dn.dnnl_primitive_execute, primitive, stream, 0, {})
