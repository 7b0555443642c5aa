"""libdnnl.so.2 and its headers: version 2, whose descriptors are structs of the program."""

from __future__ import annotations

import ctypes
import os
import random
import re
import subprocess
import sys
from typing import Any

import pytest
from c_library import ONEDNN_V2_FACTS, ONEDNN_V2_LIBRARY, load_onednn
from headers import COMPILERS, compile_client, enumerations, header_text, prototypes

from miopy import onednn
from miopy.dialects.onednn.v2.c_structs import MemoryDesc, RnnDesc

v2 = onednn.v2
FOLDER = "onednn_v2/oneapi/dnnl"
SUCCESS, INVALID_ARGUMENTS, UNIMPLEMENTED = 0, 2, 3


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return load_onednn(ONEDNN_V2_LIBRARY, ONEDNN_V2_FACTS)


def test_the_header_says_what_version_2_says() -> None:
    found = {
        name: [prototype.returns, [parameter.type for parameter in prototype.parameters]]
        for name, prototype in prototypes(header_text(f"{FOLDER}/dnnl.h")).items()
    }
    assert found == ONEDNN_V2_FACTS["functions"]
    assert enumerations(header_text(f"{FOLDER}/dnnl_types.h")) == ONEDNN_V2_FACTS["enums"]


@pytest.mark.parametrize("language", COMPILERS)
def test_structs_are_laid_out_as_those_of_version_2(language: str) -> None:
    checks = []
    for struct, places in ONEDNN_V2_FACTS["structs"].items():
        for field, place in places.items():
            of = f"sizeof({struct})" if field == "sizeof" else f"offsetof({struct}, {field})"
            checks.append(f"int check{struct}{len(checks)}[{of} == {place} ? 1 : -1];\n")
    compile_client(language, f"#include <{FOLDER}/dnnl.h>\n{''.join(checks)}")


def test_python_knows_the_same_layout() -> None:
    for kind, name in ((MemoryDesc, "dnnl_memory_desc_t"), (RnnDesc, "dnnl_rnn_desc_t")):
        places = dict(ONEDNN_V2_FACTS["structs"][name])
        assert ctypes.sizeof(kind) == places.pop("sizeof")
        fields = {field[0] for field in kind._fields_}
        for path, place in places.items():
            field = path.removesuffix("_desc") if kind is RnnDesc else path
            if field in fields:
                assert getattr(kind, field).offset == place, path
    packed = MemoryDesc.format.offset + type(MemoryDesc().format.rnn_packed).size.offset
    assert (
        packed
        == ONEDNN_V2_FACTS["structs"]["dnnl_memory_desc_t"]["format_desc.rnn_packed_desc.size"]
    )


@pytest.mark.parametrize("language", COMPILERS)
@pytest.mark.parametrize("header", ["dnnl", "dnnl_types", "dnnl_version", "dnnl_config", "miopy"])
def test_a_header_compiles_alone_and_twice(language: str, header: str) -> None:
    compile_client(language, f"#include <{FOLDER}/{header}.h>\n" * 2 + "int unused;\n")


def test_the_library_exports_the_functions_of_version_2() -> None:
    command = ["readelf", "--wide", "--dyn-syms", "--dynamic", str(ONEDNN_V2_LIBRARY)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"FUNC +GLOBAL DEFAULT +\d+ (\S+)", text)
    assert set(found) == {*ONEDNN_V2_FACTS["functions"], "miopyGetLastError"}
    assert "soname: [libdnnl.so.2]" in text


def tagged(library: ctypes.CDLL, *dims: int, tag: int = v2.dnnl_format_tag_any) -> MemoryDesc:
    desc = MemoryDesc()
    init, lengths = library.dnnl_memory_desc_init_by_tag, (ctypes.c_int64 * 12)(*dims)
    place = ctypes.addressof(desc)
    assert init(place, len(dims), lengths, v2.dnnl_f32, tag) == SUCCESS
    return desc


def created(function: Any, *arguments: Any) -> int:
    handle = ctypes.c_void_p()
    assert function(ctypes.addressof(handle), *arguments) == SUCCESS
    assert handle.value
    return handle.value


class Gru:
    """A GRU of 3 steps of 2 sequences, 4 inputs and units: its descriptors, and calls with them."""

    def __init__(self, library: ctypes.CDLL, attention: bool = False) -> None:
        self.library, self.name = library, "augru" if attention else "gru"
        layer, state = tagged(library, 3, 2, 4), tagged(library, 1, 1, 2, 4)
        matrix = tagged(library, 1, 1, 4, 3, 4)
        extra = {"attention": tagged(library, 3, 2, 1)} if attention else {}
        self.descs = {"src_layer": layer, "src_iter": state, **extra, "weights_layer": matrix}
        self.descs |= {"weights_iter": matrix, "bias": tagged(library, 1, 1, 3, 4)}
        self.descs |= {"dst_layer": layer, "dst_iter": state}

    def init(self, rnn: RnnDesc | None, **changes: MemoryDesc | None) -> int:
        """The status of forward's desc_init; None is NULL."""
        descs = [changes.get(name, desc) for name, desc in self.descs.items()]
        places = [None if each is None else ctypes.addressof(each) for each in (rnn, *descs)]
        function = getattr(self.library, f"dnnl_{self.name}_forward_desc_init")
        kinds = (v2.dnnl_forward_training, v2.dnnl_unidirectional)
        return int(function(places[0], *kinds, *places[1:], 0))


def test_structs_say_what_python_does(library: ctypes.CDLL) -> None:
    desc = tagged(library, 5, 3, 4, tag=v2.dnnl_ntc)
    assert (desc.ndims, desc.data_type, desc.format_kind) == (3, v2.dnnl_f32, onednn.dnnl_blocked)
    for dims in (desc.dims, desc.padded_dims):
        assert list(dims) == [5, 3, 4, *[0] * 9]
    assert list(desc.format.blocking.strides) == [4, 20, 1, *[0] * 9]
    place = ctypes.addressof(desc)
    assert library.dnnl_memory_desc_get_size(place) == 240
    assert library.dnnl_memory_desc_equal(place, ctypes.addressof(tagged(library, 5, 3, 4))) == 0
    assert library.dnnl_memory_desc_equal(place, place) == 1
    assert bytes(tagged(library)) == bytes(696)  # of nothing


@pytest.mark.parametrize("attention", [False, True])
def test_an_operation_is_in_its_struct(library: ctypes.CDLL, attention: bool) -> None:
    rnn, gru = RnnDesc(), Gru(library, attention)
    assert gru.init(rnn) == SUCCESS
    kind = v2.dnnl_vanilla_augru if attention else v2.dnnl_vanilla_gru
    assert (rnn.primitive_kind, rnn.cell_kind, rnn.prop_kind) == (v2.dnnl_rnn, kind, 64)
    assert list(rnn.weights_layer.dims[:5]) == [1, 1, 4, 3, 4]
    assert rnn.weights_peephole.ndims == (3 if attention else 0) and not rnn.src_iter_c.ndims
    engine = created(library.dnnl_engine_create, v2.dnnl_cpu, 0)
    desc = created(library.dnnl_primitive_desc_create, ctypes.addressof(rnn), None, engine, None)
    found = ctypes.POINTER(RnnDesc)()
    query = library.dnnl_primitive_desc_query
    assert query(desc, v2.dnnl_query_rnn_d, 0, ctypes.addressof(found)) == SUCCESS
    assert bytes(found.contents) == bytes(rnn)


def test_descriptors_are_lent_as_structs(library: ctypes.CDLL) -> None:
    rnn, gru = RnnDesc(), Gru(library)
    assert gru.init(rnn) == SUCCESS
    engine = created(library.dnnl_engine_create, v2.dnnl_cpu, 0)
    desc = created(library.dnnl_primitive_desc_create, ctypes.addressof(rnn), None, engine, None)
    place = library.dnnl_primitive_desc_query_md(desc, v2.dnnl_query_weights_md, 1)
    lent = MemoryDesc.from_address(place)
    assert list(lent.dims[:5]) == [1, 1, 4, 3, 4] and lent.format_kind == onednn.dnnl_blocked
    memory = created(library.dnnl_memory_create, place, engine, v2.DNNL_MEMORY_ALLOCATE)
    found = ctypes.POINTER(MemoryDesc)()
    assert library.dnnl_memory_get_memory_desc(memory, ctypes.addressof(found)) == SUCCESS
    assert bytes(found.contents) == bytes(lent)
    nothing = library.dnnl_primitive_desc_query_md(desc, v2.dnnl_query_diff_src_md, 0)
    assert ctypes.string_at(nothing, 696) == bytes(696)
    result = ctypes.c_void_p()
    query = (desc, v2.dnnl_query_weights_md, 1, ctypes.addressof(result))
    assert library.dnnl_primitive_desc_query(*query) == SUCCESS and result.value == place


class Quantized:
    """u8 inference of a GRU through structs: weights are packed by a reorder."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.engine = created(library.dnnl_engine_create, v2.dnnl_cpu, 0)
        self.attr = created(library.dnnl_primitive_attr_create)
        scale = (ctypes.c_float * 1)(50)
        assert library.dnnl_primitive_attr_set_rnn_data_qparams(self.attr, 100, 128) == SUCCESS
        set_weights = library.dnnl_primitive_attr_set_rnn_weights_qparams
        assert set_weights(self.attr, 1, 0, scale) == SUCCESS
        gru, rnn = Gru(library), RnnDesc()
        for name in ("src_layer", "src_iter", "dst_layer", "dst_iter"):
            gru.descs[name].data_type = v2.dnnl_u8
        gru.descs["weights_layer"].data_type = v2.dnnl_s8
        function, kind = library.dnnl_gru_forward_desc_init, v2.dnnl_forward_inference
        places = [ctypes.addressof(each) for each in gru.descs.values()]
        rnn_place = ctypes.addressof(rnn)
        assert function(rnn_place, kind, v2.dnnl_unidirectional, *places, 0) == SUCCESS
        create = library.dnnl_primitive_desc_create
        self.desc = created(create, rnn_place, self.attr, self.engine, None)
        lent = library.dnnl_primitive_desc_query_md(self.desc, v2.dnnl_query_weights_md, 0)
        self.packed = MemoryDesc.from_buffer_copy(MemoryDesc.from_address(lent))

    def reorder(self, packed: MemoryDesc) -> int:
        """The status of a reorder of float weights."""
        plain = tagged(self.library, 1, 1, 4, 3, 4, tag=v2.dnnl_ldigo)
        places = ctypes.addressof(plain), self.engine, ctypes.addressof(packed), self.engine
        made = ctypes.c_void_p()
        create = self.library.dnnl_reorder_primitive_desc_create
        return int(create(ctypes.addressof(made), *places, self.attr))


def test_packed_weights_are_structs_too(library: ctypes.CDLL) -> None:
    run = Quantized(library)
    assert run.packed.format_kind == 4 and run.packed.format.rnn_packed.size >= 48
    place = ctypes.addressof(run.packed)
    assert library.dnnl_memory_desc_get_size(place) == run.packed.format.rnn_packed.size
    assert run.reorder(run.packed) == SUCCESS
    forged = MemoryDesc.from_buffer_copy(run.packed)
    forged.format.rnn_packed.size -= 4
    assert run.reorder(forged) == INVALID_ARGUMENTS
    assert b"`dst_desc` has size, which must be" in library.miopyGetLastError()


def test_null_is_refused_or_nothing(library: ctypes.CDLL) -> None:
    gru, rnn = Gru(library), RnnDesc()
    for name in ("src_layer", "weights_layer", "weights_iter", "dst_layer"):
        assert gru.init(rnn, **{name: None}) == INVALID_ARGUMENTS
    assert gru.init(rnn, src_iter=None, dst_iter=None, bias=None) == SUCCESS
    assert gru.init(None) == INVALID_ARGUMENTS
    assert b"`rnn_desc` must not be NULL" in library.miopyGetLastError()
    engine = created(library.dnnl_engine_create, v2.dnnl_cpu, 0)
    create, place = library.dnnl_primitive_desc_create, ctypes.addressof(ctypes.c_void_p())
    assert create(place, None, None, engine, None) == INVALID_ARGUMENTS
    assert library.dnnl_memory_desc_get_size(None) == 0
    init = library.dnnl_memory_desc_init_by_tag
    assert init(None, 1, (ctypes.c_int64 * 12)(3), 3, v2.dnnl_a) == INVALID_ARGUMENTS


def test_what_no_function_writes_is_refused(library: ctypes.CDLL) -> None:
    wrong = {"ndims": 13, "data_type": 99, "format_kind": 3, "offset0": 7}
    for field, value in wrong.items():
        desc = tagged(library, 3, 2, 4, tag=v2.dnnl_tnc)
        setattr(desc, field, value)
        expected = UNIMPLEMENTED if field == "offset0" else INVALID_ARGUMENTS
        assert Gru(library).init(RnnDesc(), src_layer=desc) == expected, field
        assert b"`src_layer_desc" in library.miopyGetLastError()
    engine = created(library.dnnl_engine_create, v2.dnnl_cpu, 0)
    rnn, handle = RnnDesc(), ctypes.c_void_p()
    places = (ctypes.addressof(handle), ctypes.addressof(rnn), None, engine, None)
    assert library.dnnl_primitive_desc_create(*places) == INVALID_ARGUMENTS  # of no kind
    assert Gru(library).init(rnn) == SUCCESS
    rnn.prop_kind = 160
    assert library.dnnl_primitive_desc_create(*places) == UNIMPLEMENTED


@pytest.mark.parametrize("field", ["padded_dims", "padded_offsets", "extra.flags"])
def test_padding_and_extras_are_not_ignored(library: ctypes.CDLL, field: str) -> None:
    desc, name = tagged(library, 3, 2, 4, tag=v2.dnnl_tnc), field.partition(".")[0]
    if field == "extra.flags":
        desc.extra.flags = 1
    else:
        getattr(desc, name)[2] = 16
    assert Gru(library).init(RnnDesc(), src_layer=desc) == UNIMPLEMENTED
    assert f"`src_layer_desc` has {field}, which must be".encode() in library.miopyGetLastError()


LOGGED = """
import ctypes, sys
desc, dims = (ctypes.c_char * 696)(), (ctypes.c_int64 * 12)(5, 3, 4)
ctypes.CDLL(sys.argv[1]).dnnl_memory_desc_init_by_tag(desc, 3, dims, 3, 23)
"""


def test_logs_have_the_names_and_values_of_version_2() -> None:
    command = [sys.executable, "-c", LOGGED, str(ONEDNN_V2_LIBRARY)]
    environment = os.environ | {"ONEDNN_VERBOSE": "all"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    head, *_, data_type, tag, _ = done.stderr.splitlines()
    assert head.startswith("dnnl_status_t dnnl_memory_desc_init_by_tag(dnnl_memory_desc_t *, int, ")
    assert (data_type, tag) == ("data_type = dnnl_f32", "tag = dnnl_bac")


def test_random_structs_are_answered(library: ctypes.CDLL) -> None:
    """No mistake, whatever is in a struct."""
    numbers, engine = random.Random(1), created(library.dnnl_engine_create, v2.dnnl_cpu, 0)
    rnn, handle, statuses = RnnDesc(), ctypes.c_void_p(), set()
    gru = Gru(library)
    for _ in range(500):
        assert gru.init(rnn) == SUCCESS
        for _ in range(numbers.randint(1, 3)):
            place = ctypes.addressof(rnn) + 4 * numbers.randrange(ctypes.sizeof(rnn) // 4)
            value = numbers.choice([-1, 0, 1, 2, 3, 5, 2**31 - 1, numbers.getrandbits(31)])
            ctypes.c_int32.from_address(place).value = value
        places = (ctypes.addressof(handle), ctypes.addressof(rnn), None, engine, None)
        statuses.add(library.dnnl_primitive_desc_create(*places))
        assert not re.match(rb"dnnl_\w+: \w+: ", library.miopyGetLastError())
    assert statuses <= {SUCCESS, INVALID_ARGUMENTS, UNIMPLEMENTED} and len(statuses) == 3
