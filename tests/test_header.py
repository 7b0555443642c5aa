"""The header, MIOpen's published API and the Python functions say the same."""

from __future__ import annotations

import enum
import inspect
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from miopy import miopen

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
FACTS = json.loads((ROOT / "tests/data/miopen_api.json").read_text())

# Arrays that are read although the header does not say const.
INPUT_ARRAYS = {
    ("miopenGetRNNInputTensorSize", "xDesc"),
    ("miopenGetRNNHiddenTensorSize", "xDesc"),
}
COMPILERS = {
    "c99": ["cc", "-x", "c", "-std=c99"],
    "c++11": ["c++", "-x", "c++", "-std=c++11"],
}


class Parameter(NamedTuple):
    type: str
    name: str


class Prototype(NamedTuple):
    returns: str
    parameters: list[Parameter]


def header_text(name: str) -> str:
    """A header without comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", " ", (INCLUDE / "miopen" / name).read_text(), flags=re.DOTALL)
    return re.sub(r"^#.*$", "", text, flags=re.MULTILINE).replace("MIOPEN_EXTENSION", "")


def declared(text: str) -> Parameter:
    """The type and the name of `type name`; pointers as in `const int *`."""
    match = re.fullmatch(r"(.*?)(\w+)", " ".join(text.split()))
    assert match, text
    return Parameter(match[1].strip(), match[2])


def unnamed(text: str) -> Parameter:
    return Parameter(" ".join(text.split()), "")


def prototypes(text: str, parameter: Callable[[str], Parameter] = declared) -> dict[str, Prototype]:
    found = {}
    for head, parameters in re.findall(r"MIOPEN_EXPORT ([^(]*)\((.*?)\);", text, re.DOTALL):
        returns, name = declared(head)
        found[name] = Prototype(returns, [parameter(part) for part in parameters.split(",")])
    return found


def enumerations(text: str) -> dict[str, dict[str, int]]:
    found = {}
    for body, name in re.findall(r"typedef enum \{(.*?)\} (\w+);", text, re.DOTALL):
        members = (member.split("=") for member in body.split(","))
        found[name] = {key.strip(): int(value.strip().rstrip("u"), 0) for key, value in members}
    return found


def typedefs(text: str) -> dict[str, str]:
    """Typedefs of pointers to structs and functions."""
    found = {
        f"{name}_t": f"struct {name} *"
        for name in re.findall(r"MIOPEN_DECLARE_OBJECT\((\w+)\);", text)
    }
    found |= {name: kind for kind, name in re.findall(r"typedef (struct \w+ \*)(\w+);", text)}
    for returns, name, parameters in re.findall(r"typedef (.*?)\(\*(\w+)\)(.*?);", text):
        found[name] = f"{returns}(*){parameters}"
    return found


TEXT = header_text("miopen.h")
PROTOTYPES = prototypes(TEXT)
ENUMERATIONS = enumerations(TEXT)
REST = header_text("unimplemented.h")  # what no Python function answers


def is_output(function: str, parameter: Parameter) -> bool:
    """Whether the function writes through it, so that Python returns it instead of taking it."""
    kind = parameter.type
    points = kind.endswith("*") and not kind.startswith("const ") and kind != "void *"
    return points and (function, parameter.name) not in INPUT_ARRAYS


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
    lines = ["#include <miopen/miopen.h>", "#include <type_traits>"]
    for name, (returns, parameters) in FACTS["functions"].items():
        kind = f"{returns} (*)({', '.join(parameters)})"
        same = f"std::is_same<decltype(&{name}), {kind}>::value"
        lines.append(f'static_assert({same}, "{name}");')
    for members in FACTS["enums"].values():
        lines += [
            f'static_assert(static_cast<unsigned>({name}) == {value}u, "{name}");'
            for name, value in members.items()
        ]
    compile_client("c++11", "\n".join(lines))


@pytest.mark.parametrize("name", PROTOTYPES)
def test_python_function_takes_what_is_not_an_output(name: str) -> None:
    taken = [
        parameter.name
        for parameter in PROTOTYPES[name].parameters
        if not is_output(name, parameter)
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


def compile_client(language: str, source: str) -> None:
    """Raise unless the source compiles without a warning."""
    flags = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", f"-I{INCLUDE}", "-"]
    subprocess.run([*COMPILERS[language], *flags], input=source, text=True, check=True)


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
