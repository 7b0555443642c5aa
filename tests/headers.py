"""Reading the C headers of `include`: prototypes, enumerations and typedefs as text."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
COMPILERS = {
    "c99": ["cc", "-x", "c", "-std=c99"],
    "c++11": ["c++", "-x", "c++", "-std=c++11"],
}


class Parameter(NamedTuple):
    type: str
    name: str

    @property
    def is_output(self) -> bool:
        """Whether it looks like memory that the function writes."""
        points = self.type.endswith("*") and not self.type.startswith("const ")
        return points and self.type != "void *"


class Prototype(NamedTuple):
    returns: str
    parameters: list[Parameter]


def header_text(name: str) -> str:
    """A header without comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", " ", (INCLUDE / name).read_text(), flags=re.DOTALL)
    return re.sub(r"^#.*$", "", text, flags=re.MULTILINE).replace("MIOPEN_EXTENSION", "")


def declared(text: str) -> Parameter:
    """The type and the name of `type name`; pointers as in `const int *`."""
    match = re.fullmatch(r"(.*?)(\w+)", " ".join(text.split()))
    assert match, text
    return Parameter(match[1].strip(), match[2])


def unnamed(text: str) -> Parameter:
    return Parameter(" ".join(text.split()), "")


def prototypes(text: str, parameter: Callable[[str], Parameter] = declared) -> dict[str, Prototype]:
    """Every exported function."""
    found = {}
    for head, inside in re.findall(r"\w+_EXPORT ([^(]*)\((.*?)\);", text, re.DOTALL):
        returns, name = declared(head)
        parts = [] if inside == "void" else inside.split(",")
        found[name] = Prototype(returns, [parameter(part) for part in parts])
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
    found |= {
        name: kind for kind, name in re.findall(r"typedef ((?:const )?struct \w+ \*)(\w+);", text)
    }
    for returns, name, parameters in re.findall(r"typedef (.*?)\(\*(\w+)\)(.*?);", text):
        found[name] = f"{returns}(*){parameters}"
    return found


def compile_client(language: str, source: str, *folders: Path) -> None:
    """Raise unless the source compiles without a warning; headers may be in further folders."""
    flags = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", f"-I{INCLUDE}"]
    flags += [f"-I{folder}" for folder in folders]
    subprocess.run([*COMPILERS[language], *flags, "-"], input=source, text=True, check=True)


def compile_facts(header: str, facts: dict[str, dict]) -> None:
    """Raise unless a C++ compiler finds the same functions and enumerators in the header."""
    lines = [f"#include <{header}>", "#include <type_traits>"]
    for name, (returns, parameters) in facts["functions"].items():
        kind = f"{returns} (*)({', '.join(parameters)})"
        same = f"std::is_same<decltype(&{name}), {kind}>::value"
        lines.append(f'static_assert({same}, "{name}");')
    for members in facts["enums"].values():
        lines += [
            f'static_assert(static_cast<unsigned>({name}) == {value}u, "{name}");'
            for name, value in members.items()
        ]
    compile_client("c++11", "\n".join(lines))
