"""The header, MIOpen's published API and the Python functions say the same."""

from __future__ import annotations

import enum
import inspect
import json
import re

import pytest
from headers import (
    COMPILERS,
    INCLUDE,
    ROOT,
    compile_client,
    compile_facts,
    enumerations,
    header_text,
    prototypes,
    typedefs,
    unnamed,
)

from miopy import miopen

FACTS = json.loads((ROOT / "tests/data/miopen_api.json").read_text())

# Arrays that are read although the header does not say const.
INPUT_ARRAYS = {
    ("miopenGetRNNInputTensorSize", "xDesc"),
    ("miopenGetRNNHiddenTensorSize", "xDesc"),
}

TEXT = header_text("miopen/miopen.h")
PROTOTYPES = prototypes(TEXT)
ENUMERATIONS = enumerations(TEXT)
REST = header_text("miopen/unimplemented.h")  # what no Python function answers


def test_prototypes_equal_miopens() -> None:
    found = {
        name: [prototype.returns, [parameter.type for parameter in prototype.parameters]]
        for name, prototype in (PROTOTYPES | prototypes(REST, unnamed)).items()
    }
    assert found == FACTS["functions"]


def test_enumerations_equal_miopens() -> None:
    assert ENUMERATIONS | enumerations(REST) == FACTS["enums"]


def test_typedefs_equal_miopens() -> None:
    assert typedefs(TEXT) | typedefs(REST) == FACTS["typedefs"]


def test_structs_equal_miopens() -> None:
    found = re.findall(r"typedef (struct(?: \w+)? \{.*?\}) (\w+);", REST, re.DOTALL)
    assert {name: " ".join(body.split()) for body, name in found} == FACTS["structs"]


def test_a_cpp_compiler_finds_miopens_types_and_values() -> None:
    """The same facts, read from the header by a compiler instead of by this file."""
    compile_facts("miopen/miopen.h", FACTS)


@pytest.mark.parametrize("name", PROTOTYPES)
def test_python_function_takes_what_is_not_an_output(name: str) -> None:
    taken = [
        parameter.name
        for parameter in PROTOTYPES[name].parameters
        if not parameter.is_output or (name, parameter.name) in INPUT_ARRAYS
    ]
    assert list(inspect.signature(getattr(miopen, name)).parameters) == taken


def test_python_has_no_further_functions() -> None:
    functions = {name for name in miopen.__all__ if inspect.isfunction(getattr(miopen, name))}
    assert functions == set(PROTOTYPES)


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_python_enumeration_equals_the_headers(name: str) -> None:
    kind = getattr(miopen, name)
    assert issubclass(kind, enum.IntEnum)
    assert {key: member.value for key, member in kind.__members__.items()} == ENUMERATIONS[name]


def test_every_enumerator_is_a_name_of_the_module() -> None:
    for name, members in ENUMERATIONS.items():
        for key in members:
            assert getattr(miopen, key) is getattr(miopen, name)[key]
            assert key in miopen.__all__


def test_version_equals_the_headers() -> None:
    text = (INCLUDE / "miopen/version.h").read_text()
    parts = [re.search(rf"VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    assert miopen.miopenGetVersion() == tuple(int(part[1]) for part in parts if part)


@pytest.mark.parametrize(
    "header", ["miopen", "unimplemented", "miopy", "config", "export", "version"]
)
@pytest.mark.parametrize("language", COMPILERS)
def test_header_compiles_alone_and_twice(language: str, header: str) -> None:
    compile_client(language, f"#include <miopen/{header}.h>\n" * 2 + "int unused;\n")


@pytest.mark.parametrize("language", COMPILERS)
def test_hip_comes_along_and_its_stream_is_the_one_taken(language: str) -> None:
    client = """
        #include <miopen/miopen.h>
        int set(miopenHandle_t handle);
        int set(miopenHandle_t handle)
        {
            hipStream_t stream;
            return hipStreamCreate(&stream) == hipSuccess && miopenSetStream(handle, stream);
        }
    """
    compile_client(language, client)
