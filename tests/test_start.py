"""How libMIOpen finds Python, and what it says where it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import _cffi_backend
import cffi
import pytest
from clients import SDK, compile_client, run, run_well

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
NOTE = SDK / "lib/python.txt"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_client("starts.c", tmp_path_factory.mktemp("program"))


def bare_environment(folder: Path) -> Path:
    """A virtual environment with nothing in it; gives its site-packages."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True)
    return folder / f"lib/python{VERSION}/site-packages"


def failure(program: Path, folder: Path, **variables: str) -> str:
    """The one line that a program without Python prints; its calls fail and it goes on."""
    done = run(program, cwd=folder, **variables)
    status, message = done.stdout.splitlines()
    lines = done.stderr.splitlines()
    assert (done.returncode, status) == (0, "NotInitialized NotInitialized")
    assert lines == [f"MIOpen Error: {message}"]
    return message


def test_the_environment_of_the_caller_does_not_matter(program: Path, tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit")
    hostile = {"PYTHONHOME": "/nowhere", "PYTHONPATH": str(tmp_path), "LC_ALL": "C"}
    assert run_well(program, cwd=tmp_path, **hostile) == "Success Success\n\n"
    assert run_well(program, cwd=tmp_path, PATH="") == "Success Success\n\n"


def test_a_named_interpreter_that_is_none_is_refused(program: Path, tmp_path: Path) -> None:
    message = failure(program, tmp_path, MIOPY_PYTHON="/nowhere/python")
    assert message == "MIOPY_PYTHON=/nowhere/python is not a program"


def test_a_named_library_that_is_none_is_refused(program: Path, tmp_path: Path) -> None:
    message = failure(program, tmp_path, MIOPY_LIBPYTHON="/nowhere/libpython.so")
    assert message.startswith("MIOPY_LIBPYTHON: /nowhere/libpython.so: cannot open")


def test_the_library_of_another_python_is_not_taken(program: Path, tmp_path: Path) -> None:
    interpreter = tmp_path / "bin/python3"
    interpreter.parent.mkdir()
    interpreter.write_text("#!/bin/sh\n")
    interpreter.chmod(0o755)
    message = failure(program, tmp_path, MIOPY_PYTHON=str(interpreter))
    assert message.startswith(f"{interpreter} has no shared library: install libpython{VERSION}")


def test_python_without_cffi_is_named(program: Path, tmp_path: Path) -> None:
    bare_environment(tmp_path)
    message = failure(program, tmp_path, MIOPY_PYTHON=str(tmp_path / "bin/python"))
    assert message.startswith("the Python package cffi cannot be imported")


def test_python_without_numpy_is_named(program: Path, tmp_path: Path) -> None:
    site = bare_environment(tmp_path)
    for package in (Path(_cffi_backend.__file__), Path(cffi.__file__).parent):
        (site / package.name).symlink_to(package)
    message = failure(program, tmp_path, MIOPY_PYTHON=str(tmp_path / "bin/python"))
    assert message.endswith("cannot be used: ModuleNotFoundError: No module named 'numpy'")


def test_an_sdk_without_its_package_is_named(program: Path, tmp_path: Path) -> None:
    library = tmp_path / "package/_sdk/lib"
    library.mkdir(parents=True)
    shutil.copy(SDK / "lib/libMIOpen.so.1", library)
    message = failure(program, tmp_path, LD_PRELOAD=str(library / "libMIOpen.so.1"))
    assert message == f"{tmp_path / 'package'} is not built for Python 3"


def test_quiet_programs_get_the_status_alone(program: Path, tmp_path: Path) -> None:
    done = run(program, cwd=tmp_path, MIOPY_PYTHON="/nowhere/python", MIOPEN_LOG_LEVEL="1")
    assert done.stdout.startswith("NotInitialized NotInitialized\n")
    assert done.stderr == ""


def test_the_build_notes_its_interpreter() -> None:
    version, interpreter = NOTE.read_text().splitlines()
    assert version.split(".")[0] == "3"
    assert os.access(interpreter, os.X_OK)
