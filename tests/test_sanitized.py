"""The public library's own C under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
from pathlib import Path

import build_abi
import pytest
from clients import FLAGS, SDK, SOURCES, STANDARDS, build, run, run_well

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "miopy"
SANITIZE = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Python keeps what it has allocated; the sanitizer's handler of faults is not wanted in Python.
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0", "MIOPEN_LOG_LEVEL": "1"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of links to this one, with a sanitized libMIOpen in its SDK."""
    folder = tmp_path_factory.mktemp("sanitized")
    package, generated = folder / "miopy", folder / "generated"
    (package / "_sdk/lib").mkdir(parents=True)
    for path in PACKAGE.iterdir():
        if path.name != "_sdk":
            (package / path.name).symlink_to(path)
    (package / "_sdk/lib/python.txt").symlink_to(SDK / "lib/python.txt")
    build_abi.generate(generated)
    library = package / "_sdk/lib/libMIOpen.so.1"
    inputs = build_abi.library_inputs("miopen", generated)
    flags = ("-std=c11", "-O1", "-fPIC", "-shared", *SANITIZE, "-pthread")
    build("cc", *flags, *inputs, "-o", library, "-ldl", cwd=folder)
    return library


def client(source: str, library: Path, *libraries: str) -> Path:
    program = library.parent / Path(source).stem
    path = SOURCES / source
    build(
        *(*STANDARDS[path.suffix], *FLAGS, *SANITIZE, f"-I{ROOT / 'include'}", path, library),
        *(f"-L{SDK / 'lib'}", *libraries, f"-Wl,-rpath,{library.parent}:{SDK / 'lib'}"),
        *("-o", program),
        cwd=library.parent,
    )
    return program


@pytest.mark.parametrize("source", ["first_call.c", "forks.c", "parameters.c", "bad_inputs.c"])
def test_a_client_runs_without_a_report(library: Path, source: str) -> None:
    program = client(source, library, "-lamdhip64")
    run_well(program, cwd=library.parent, **OPTIONS)


def test_calls_at_exit_are_clean(library: Path) -> None:
    done = run(client("exits.cpp", library), cwd=library.parent, **OPTIONS)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "variables",
    [{}, {"MIOPY_PYTHON": "/nowhere"}, {"MIOPY_LIBPYTHON": "/nowhere"}, {"PATH": ":" * 100}],
    ids=["good", "no interpreter", "no library", "odd path"],
)
def test_starting_is_clean_whatever_comes_of_it(library: Path, variables: dict[str, str]) -> None:
    done = run(client("starts.c", library), cwd=library.parent, **OPTIONS, **variables)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_as_long_as_paths_can_be_are_refused(library: Path) -> None:
    program = client("starts.c", library)
    longest = "/" + "x" * (os.pathconf("/", "PC_PATH_MAX") + 10)
    for variable in ("MIOPY_PYTHON", "MIOPY_LIBPYTHON"):
        done = run(program, cwd=library.parent, **OPTIONS, **{variable: longest})
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("NotInitialized")
