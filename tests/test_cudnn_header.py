"""include/cudnn.h, cuDNN's published API and the Python functions say the same."""

from __future__ import annotations

import enum
import inspect
import json
from pathlib import Path

import pytest
from headers import (
    COMPILERS,
    ROOT,
    compile_client,
    compile_facts,
    enumerations,
    header_text,
    prototypes,
    typedefs,
)

from miopy import cudnn

FACTS = json.loads((ROOT / "tests/data/cudnn_api.json").read_text())
TEXT = header_text("cudnn.h")
PROTOTYPES = prototypes(TEXT)
ENUMERATIONS = enumerations(TEXT)
COUNTS = {"CUDNN_RNN_ALGO_COUNT"}  # how many there are, and none of them


def test_prototypes_equal_cudnns() -> None:
    found = {
        name: [prototype.returns, [parameter.type for parameter in prototype.parameters]]
        for name, prototype in PROTOTYPES.items()
    }
    assert found == FACTS["functions"]


def test_enumerations_equal_cudnns() -> None:
    assert ENUMERATIONS == FACTS["enums"]


def test_typedefs_equal_cudnns() -> None:
    assert typedefs(TEXT) == FACTS["typedefs"]


def test_a_cpp_compiler_finds_cudnns_types_and_values() -> None:
    compile_facts("cudnn.h", FACTS)


@pytest.mark.parametrize("name", PROTOTYPES)
def test_python_function_takes_what_is_not_an_output(name: str) -> None:
    taken = [each.name for each in PROTOTYPES[name].parameters if not each.is_output]
    assert list(inspect.signature(getattr(cudnn, name)).parameters) == taken


def test_python_has_no_further_functions() -> None:
    functions = {name for name in cudnn.__all__ if inspect.isfunction(getattr(cudnn, name))}
    assert functions == set(PROTOTYPES)


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_python_enumeration_equals_the_headers(name: str) -> None:
    kind = getattr(cudnn, name)
    assert issubclass(kind, enum.IntEnum)
    found = {key: member.value for key, member in kind.__members__.items()}
    assert found == {key: ENUMERATIONS[name][key] for key in ENUMERATIONS[name].keys() - COUNTS}


def test_every_enumerator_is_a_name_of_the_module() -> None:
    for members in ENUMERATIONS.values():
        for key, value in members.items():
            assert getattr(cudnn, key) == value
            assert key in cudnn.__all__


def test_python_has_the_headers_macros() -> None:
    names = ("CUDNN_RNN_PADDED_IO_DISABLED", "CUDNN_RNN_PADDED_IO_ENABLED", "CUDNN_DIM_MAX")
    checks = [
        f"int check{i}[({name}) == {getattr(cudnn, name)} ? 1 : -1];\n"
        for i, name in enumerate(names)
    ]
    version = f"int version[CUDNN_VERSION == {cudnn.cudnnGetVersion()} ? 1 : -1];\n"
    compile_client("c99", "".join(["#include <cudnn.h>\n", *checks, version]))


@pytest.mark.parametrize("header", ["cudnn.h", "cudnn_version.h"])
@pytest.mark.parametrize("language", COMPILERS)
def test_header_compiles_alone_and_twice(language: str, header: str) -> None:
    compile_client(language, f"#include <{header}>\n" * 2 + "int unused;\n")


@pytest.mark.parametrize("language", COMPILERS)
def test_it_goes_together_with_miopens(language: str) -> None:
    compile_client(language, "#include <cudnn.h>\n#include <miopen/miopen.h>\nint unused;\n")


def test_cudas_runtime_comes_along_where_there_is_one(tmp_path: Path) -> None:
    runtime = (
        "#pragma once\ntypedef struct CUstream_st *cudaStream_t;\nint cudaMalloc(void **, long);\n"
    )
    (tmp_path / "cuda_runtime.h").write_text(runtime)
    client = "#include <cudnn.h>\nint (*allocate)(void **, long) = cudaMalloc;\n"
    compile_client("c99", client, tmp_path)
