"""libdnnl, called through ctypes and from programs."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_library import ONEDNN_FACTS, ONEDNN_LIBRARY, load_cudnn, load_onednn
from clients import compile_client, run, run_well

from miopy import onednn
from miopy.objects import OBJECTS, Address

SUCCESS, INVALID_ARGUMENTS, RUNTIME_ERROR = 0, 2, 5


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return load_onednn()


def created(function: Any, *arguments: Any) -> int:
    """What a create function writes."""
    handle = ctypes.c_void_p()
    assert function(ctypes.addressof(handle), *arguments) == SUCCESS
    assert handle.value
    return handle.value


def described(library: ctypes.CDLL, *dims: int, tag: int = onednn.dnnl_tnc) -> int:
    """A memory descriptor of floats."""
    lengths = (ctypes.c_int64 * 12)(*dims)
    create = library.dnnl_memory_desc_create_with_tag
    return created(create, len(dims), lengths, onednn.dnnl_f32, tag)


def asked(function: Any, kind: Any, *arguments: Any) -> Any:
    """What a query writes as a C type."""
    result = kind()
    assert function(*arguments, ctypes.addressof(result)) == SUCCESS
    return result.value if hasattr(result, "value") else result


def readelf(option: str) -> str:
    command = ["readelf", "--wide", option, str(ONEDNN_LIBRARY)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_library_exports_onednns_functions_and_knows_no_python() -> None:
    symbols = readelf("--dyn-syms")
    found = re.findall(r"FUNC +GLOBAL DEFAULT +\d+ (\S+)", symbols)
    assert set(found) == {*ONEDNN_FACTS["functions"], "miopyGetLastError"}
    assert not re.findall(r" UND (_?Py\w+)", symbols)
    assert "soname: [libdnnl.so.3]" in readelf("--dynamic")


def test_the_version_is_that_of_python(library: ctypes.CDLL) -> None:
    numbers = ctypes.cast(library.dnnl_version(), ctypes.POINTER(ctypes.c_int))
    version = onednn.dnnl_version()
    assert numbers[0:3] == [version.major, version.minor, version.patch]


def test_statuses_have_their_names(library: ctypes.CDLL) -> None:
    for value in range(8):
        assert library.dnnl_status2str(value) == onednn.dnnl_status2str(value).encode()


def test_c_and_python_share_objects(library: ctypes.CDLL) -> None:
    desc = OBJECTS.find(described(library, 5, 3, 4))
    assert onednn.dnnl_memory_desc_query(desc, onednn.dnnl_query_dims) == (5, 3, 4)
    assert onednn.dnnl_memory_desc_get_size(desc) == 240


def test_values_are_answers(library: ctypes.CDLL) -> None:
    desc, same = described(library, 5, 3, 4), described(library, 5, 3, 4)
    assert library.dnnl_memory_desc_get_size(desc) == 240
    assert library.dnnl_memory_desc_equal(desc, same) == 1
    assert library.dnnl_engine_get_count(onednn.dnnl_cpu) == 1
    assert library.dnnl_data_type_size(onednn.dnnl_bf16) == 2


def test_fields_of_memory_descriptors_have_their_types(library: ctypes.CDLL) -> None:
    desc = described(library, 5, 3, 4, tag=onednn.dnnl_ntc)
    query = library.dnnl_memory_desc_query
    assert asked(query, ctypes.c_int, desc, onednn.dnnl_query_ndims_s32) == 3
    assert asked(query, ctypes.c_int, desc, onednn.dnnl_query_data_type) == onednn.dnnl_f32
    assert asked(query, ctypes.c_int, desc, onednn.dnnl_query_format_kind) == onednn.dnnl_blocked
    assert asked(query, ctypes.c_int64, desc, onednn.dnnl_query_submemory_offset_s64) == 0
    dims_pointer = ctypes.POINTER(ctypes.c_int64 * 12)
    for what, expected in (
        (onednn.dnnl_query_dims, (5, 3, 4)),
        (onednn.dnnl_query_strides, (4, 20, 1)),
    ):
        dims = asked(query, dims_pointer, desc, what)
        assert tuple(dims.contents) == expected + (0,) * 9
        assert asked(query, ctypes.c_void_p, desc, what) == ctypes.addressof(dims.contents)


class Network:
    """An LSTM's primitive descriptor as C sees it: 5 steps of 3 sequences of 4, 4 units."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.engine = created(library.dnnl_engine_create, onednn.dnnl_cpu, 0)
        layer = described(library, 5, 3, 4)
        state = described(library, 1, 1, 3, 4, tag=onednn.dnnl_ldnc)
        weights = described(library, 1, 1, 4, 4, 4, tag=onednn.dnnl_format_tag_any)
        bias = described(library, 1, 1, 4, 4, tag=onednn.dnnl_ldgo)
        attr = created(library.dnnl_primitive_attr_create)
        scales = (ctypes.c_float * 1)(0.5)
        assert library.dnnl_primitive_attr_set_rnn_weights_qparams(attr, 1, 0, scales) == SUCCESS
        self.attr = attr
        self.desc = created(
            library.dnnl_lstm_forward_primitive_desc_create,
            *(self.engine, onednn.dnnl_forward_training, onednn.dnnl_unidirectional_left2right),
            *(layer, state, state, weights, weights, None, None, bias, layer, state, state),
            *(0, None),
        )
        for each in (layer, state, weights, bias):
            assert library.dnnl_memory_desc_destroy(each) == SUCCESS


def test_facts_about_primitives_have_their_types(library: ctypes.CDLL) -> None:
    network = Network(library)
    query, desc = library.dnnl_primitive_desc_query, network.desc

    def fact(kind: Any, what: int, index: int = 0) -> Any:
        return asked(query, kind, desc, what, index)

    assert fact(ctypes.c_void_p, onednn.dnnl_query_engine) == network.engine
    assert fact(ctypes.c_int, onednn.dnnl_query_primitive_kind) == onednn.dnnl_rnn
    assert fact(ctypes.c_int, onednn.dnnl_query_num_of_inputs_s32) == 6
    assert fact(ctypes.c_int, onednn.dnnl_query_cell_kind) == onednn.dnnl_vanilla_lstm
    assert fact(ctypes.c_float, onednn.dnnl_query_alpha_f32) == 0
    assert fact(ctypes.c_char_p, onednn.dnnl_query_impl_info_str).startswith(b"miopy")
    weights = fact(ctypes.c_void_p, onednn.dnnl_query_weights_md, 1)
    assert weights == library.dnnl_primitive_desc_query_md(desc, onednn.dnnl_query_weights_md, 1)
    assert library.dnnl_memory_desc_get_size(weights) >= 256
    assert library.dnnl_primitive_desc_query_s32(desc, onednn.dnnl_query_num_of_outputs_s32, 0) == 4


def test_what_a_primitive_descriptor_lends_goes_with_it(library: ctypes.CDLL) -> None:
    desc = Network(library).desc
    known = len(OBJECTS)
    lent = library.dnnl_primitive_desc_query_md(desc, onednn.dnnl_query_workspace_md, 0)
    attr = ctypes.c_void_p()
    assert library.dnnl_primitive_desc_get_attr(desc, ctypes.addressof(attr)) == SUCCESS
    assert library.dnnl_memory_desc_get_size(lent) > 0 and len(OBJECTS) == known + 2
    assert library.dnnl_primitive_desc_destroy(desc) == SUCCESS
    assert library.dnnl_memory_desc_get_size(lent) == 0 and len(OBJECTS) == known - 1
    assert isinstance(OBJECTS.find(lent), Address)


def test_what_a_copy_lends_goes_with_the_copy(library: ctypes.CDLL) -> None:
    desc = Network(library).desc
    primitive = created(library.dnnl_primitive_create, desc)
    own = asked(library.dnnl_primitive_get_primitive_desc, ctypes.c_void_p, primitive)
    query, what = library.dnnl_primitive_desc_query_md, onednn.dnnl_query_weights_md
    lent = [query(each, what, 0) for each in (desc, own)]
    assert library.dnnl_primitive_desc_destroy(desc) == SUCCESS
    sizes = [library.dnnl_memory_desc_get_size(each) for each in lent]
    assert sizes[0] == 0 and sizes[1] >= 256


def test_what_is_lent_cannot_be_destroyed(library: ctypes.CDLL) -> None:
    desc = Network(library).desc
    lent = library.dnnl_primitive_desc_query_md(desc, onednn.dnnl_query_weights_md, 0)
    size = library.dnnl_memory_desc_get_size(lent)
    assert library.dnnl_memory_desc_destroy(lent) == INVALID_ARGUMENTS
    assert b"`memory_desc` must not be one that another lends" in library.miopyGetLastError()
    assert library.dnnl_memory_desc_get_size(lent) == size > 0


def test_scales_are_lent_too(library: ctypes.CDLL) -> None:
    attr = created(library.dnnl_primitive_attr_create)
    given = (ctypes.c_float * 20)(*[0.25 * i for i in range(1, 21)])
    assert library.dnnl_primitive_attr_set_rnn_weights_qparams(attr, 20, 24, given) == SUCCESS
    count, mask = ctypes.c_int64(), ctypes.c_int()
    scales = ctypes.POINTER(ctypes.c_float)()
    places = (ctypes.addressof(each) for each in (count, mask, scales))
    assert library.dnnl_primitive_attr_get_rnn_weights_qparams(attr, *places) == SUCCESS
    assert (count.value, mask.value, scales[0:20]) == (20, 24, list(given))


def test_objects_outlive_what_they_were_made_of(library: ctypes.CDLL) -> None:
    desc = described(library, 5, 3, 4)
    engine = created(library.dnnl_engine_create, onednn.dnnl_cpu, 0)
    memory = created(library.dnnl_memory_create, desc, engine, onednn.DNNL_MEMORY_ALLOCATE)
    assert library.dnnl_memory_desc_destroy(desc) == SUCCESS
    own = asked(library.dnnl_memory_get_memory_desc, ctypes.c_void_p, memory)
    assert library.dnnl_memory_desc_get_size(own) == 240
    mapped = asked(library.dnnl_memory_map_data, ctypes.c_void_p, memory)
    assert mapped == asked(library.dnnl_memory_get_data_handle, ctypes.c_void_p, memory)
    ctypes.memset(mapped, 7, 240)
    assert library.dnnl_memory_unmap_data(memory, mapped) == SUCCESS
    network = Network(library)
    primitive = created(library.dnnl_primitive_create, network.desc)
    assert library.dnnl_primitive_desc_destroy(network.desc) == SUCCESS
    own = asked(library.dnnl_primitive_get_primitive_desc, ctypes.c_void_p, primitive)
    inputs = onednn.dnnl_query_num_of_inputs_s32
    assert library.dnnl_primitive_desc_query_s32(own, inputs, 0) == 6


def test_memory_of_the_programs_own_is_where_it_says(library: ctypes.CDLL) -> None:
    engine = created(library.dnnl_engine_create, onednn.dnnl_cpu, 0)
    array = np.zeros(60, np.float32)
    memory = created(library.dnnl_memory_create, described(library, 5, 3, 4), engine, None)
    get = library.dnnl_memory_get_data_handle
    assert asked(get, ctypes.c_void_p, memory) is None
    assert library.dnnl_memory_set_data_handle(memory, array.ctypes.data) == SUCCESS
    assert asked(get, ctypes.c_void_p, memory) == array.ctypes.data


def test_each_librarys_objects_are_strangers_to_the_other(library: ctypes.CDLL) -> None:
    engine = created(library.dnnl_engine_create, onednn.dnnl_cpu, 0)
    assert load_cudnn().cudnnDestroy(engine) == 2000
    assert library.dnnl_engine_destroy(created(load_cudnn().cudnnCreate)) == INVALID_ARGUMENTS
    assert library.miopyGetLastError().startswith(b"dnnl_engine_destroy: `engine` must be a ")


def test_errors_are_said_where_the_vendor_says_them(tmp_path: Path) -> None:
    program = compile_client("onednn_error.c", tmp_path, dialects=("onednn",))
    message = "dnnl_engine_destroy: `engine` must be a dnnl_engine_t, got 0x3"
    expected = f"invalid_arguments\n{message}\n0 bytes\n"
    assert run_well(program, cwd=tmp_path) == expected
    done = run(program, cwd=tmp_path, ONEDNN_VERBOSE="check")
    assert done.stdout == expected
    assert done.stderr.startswith(f"oneDNN Error: {message}\n")
    done = run(program, cwd=tmp_path, ONEDNN_VERBOSE="all")
    assert done.stderr.startswith("dnnl_status_t dnnl_engine_destroy(dnnl_engine_t){\n")


def test_a_program_without_python_is_told_why(tmp_path: Path) -> None:
    program = compile_client("onednn_error.c", tmp_path, dialects=("onednn",))
    message = "MIOPY_PYTHON=/nowhere/python is not a program"
    expected = f"runtime_error\n{message}\n0 bytes\n"
    done = run(program, cwd=tmp_path, MIOPY_PYTHON="/nowhere/python")
    assert (done.stdout, done.stderr) == (expected, f"oneDNN Error: {message}\n")
    done = run(program, cwd=tmp_path, MIOPY_PYTHON="/nowhere/python", ONEDNN_VERBOSE="0")
    assert (done.stdout, done.stderr) == (expected, "")
