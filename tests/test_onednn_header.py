"""include/oneapi/dnnl, oneDNN's published API and the Python functions say the same."""

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
    Parameter,
    compile_client,
    compile_facts,
    enumerations,
    header_text,
    prototypes,
    typedefs,
)

from miopy import onednn

FACTS = json.loads((ROOT / "tests/data/onednn_api.json").read_text())
TYPES = header_text("oneapi/dnnl/dnnl_types.h")
PROTOTYPES = prototypes(header_text("oneapi/dnnl/dnnl.h"))
ENUMERATIONS = enumerations(TYPES)
MACROS = re.findall(
    r"^#define (DNNL_(?:ARG|MAX)\w+) ", (INCLUDE / "oneapi/dnnl/dnnl_types.h").read_text(), re.M
)


def is_output(parameter: Parameter) -> bool:
    """`void *result` is of any type, `const float **` is where a pointer to numbers goes."""
    return parameter.is_output or parameter.name == "result" or parameter.type.endswith("**")


def test_prototypes_equal_onednns() -> None:
    found = {
        name: [prototype.returns, [parameter.type for parameter in prototype.parameters]]
        for name, prototype in PROTOTYPES.items()
    }
    assert found == FACTS["functions"]


def test_enumerations_equal_onednns() -> None:
    assert ENUMERATIONS == FACTS["enums"]


def test_typedefs_equal_onednns() -> None:
    assert typedefs(TYPES) == FACTS["typedefs"]


def test_a_cpp_compiler_finds_onednns_types_and_values() -> None:
    compile_facts("oneapi/dnnl/dnnl.h", FACTS)


@pytest.mark.parametrize("language", COMPILERS)
def test_structs_are_laid_out_as_onednns(language: str) -> None:
    places = {
        "dnnl_exec_arg_t": {"arg": 0, "memory": 8},
        "dnnl_version_t": {
            **{"major": 0, "minor": 4, "patch": 8, "hash": 16},
            **{"cpu_runtime": 24, "gpu_runtime": 28},
        },
    }
    checks = "".join(
        f"int {struct}_{field}[offsetof({struct}, {field}) == {place} ? 1 : -1];\n"
        for struct, fields in places.items()
        for field, place in fields.items()
    )
    sizes = "int arg[sizeof(dnnl_exec_arg_t) == 16 ? 1 : -1];\n"
    sizes += "int dims[sizeof(dnnl_dims_t) == 96 ? 1 : -1];\n"
    compile_client(language, f"#include <oneapi/dnnl/dnnl.h>\n{checks}{sizes}")


@pytest.mark.parametrize("name", PROTOTYPES)
def test_python_function_takes_what_is_not_an_output(name: str) -> None:
    taken = [each.name for each in PROTOTYPES[name].parameters if not is_output(each)]
    assert list(inspect.signature(getattr(onednn, name)).parameters) == taken


def test_python_has_no_further_functions() -> None:
    functions = {name for name in onednn.__all__ if inspect.isfunction(getattr(onednn, name))}
    assert functions == set(PROTOTYPES)


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_python_enumeration_equals_the_headers(name: str) -> None:
    kind = getattr(onednn, name)
    assert issubclass(kind, enum.IntEnum)
    assert {key: member.value for key, member in kind.__members__.items()} == ENUMERATIONS[name]


def test_every_enumerator_is_a_name_of_the_module() -> None:
    for members in ENUMERATIONS.values():
        for key, value in members.items():
            assert getattr(onednn, key) == value
            assert key in onednn.__all__


@pytest.mark.parametrize("language", COMPILERS)
def test_python_has_the_headers_macros(language: str) -> None:
    assert len(MACROS) > 50
    checks = [
        f"int check{i}[{name} == {getattr(onednn, name)} ? 1 : -1];\n"
        for i, name in enumerate(MACROS)
    ]
    runtime = onednn.DNNL_RUNTIME_DIM_VAL + 1  # which has a sign and digits, as C wants it
    checks.append(f"int runtime[DNNL_RUNTIME_DIM_VAL + 1 == {runtime} ? 1 : -1];\n")
    compile_client(language, "".join(["#include <oneapi/dnnl/dnnl.h>\n", *checks]))


def test_python_is_of_the_headers_version() -> None:
    version = onednn.dnnl_version()
    checks = [
        f"int {part}[DNNL_VERSION_{part.upper()} == {getattr(version, part)} ? 1 : -1];\n"
        for part in ("major", "minor", "patch")
    ]
    compile_client("c99", "".join(["#include <oneapi/dnnl/dnnl_version.h>\n", *checks]))


@pytest.mark.parametrize(
    "header", ["dnnl", "dnnl_types", "dnnl_version", "dnnl_config", "dnnl_debug", "miopy"]
)
@pytest.mark.parametrize("language", COMPILERS)
def test_header_compiles_alone_and_twice(language: str, header: str) -> None:
    compile_client(language, f"#include <oneapi/dnnl/{header}.h>\n" * 2 + "int unused;\n")


@pytest.mark.parametrize("language", COMPILERS)
def test_it_goes_together_with_the_other_libraries(language: str) -> None:
    headers = ("dnnl.h", "cudnn.h", "miopen/miopen.h")
    compile_client(language, "".join(f"#include <{name}>\n" for name in headers) + "int unused;\n")
