"""A wheel, built from the source distribution and installed where nothing else is: the same C
program runs there and writes what it writes on the installation that these tests run on."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from clients import ROOT, SOURCES, build, compile_client, make_client, run_well

DEBIAN_PYTHON = "/usr/bin/python3"
CAN_HOST = f"import ensurepip, sys; assert sys.version_info[:2] == {sys.version_info[:2]}"


def interpreters() -> list[str]:
    """This Python, and the distribution's where the same wheel serves it."""
    other = Path(DEBIAN_PYTHON)
    if not other.exists() or other.resolve() == Path(sys.executable).resolve():
        return [sys.executable]
    usable = subprocess.run([other, "-c", CAN_HOST], capture_output=True).returncode == 0
    return [sys.executable, DEBIAN_PYTHON] if usable else [sys.executable]


def filled_once(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """A folder of this run that the first of its processes to want it fills; others wait for it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    complete = folder.with_name(f"{name}.complete")
    with open(folder.with_name(f"{name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one that failed
            folder.mkdir()
            fill(folder)
            complete.touch()
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once: two builds of one tree would be in each other's way."""

    def build_wheel(folder: Path) -> None:
        command = [sys.executable, "-I", "-m", "build", "--outdir", folder, ROOT]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout

    (wheel,) = filled_once(tmp_path_factory, "wheel", build_wheel).glob("*.whl")
    return wheel


def pip_install(python: str | Path, *arguments: str | Path) -> None:
    subprocess.run([python, "-I", "-m", "pip", "install", "--quiet", *arguments], check=True)


@pytest.fixture(scope="module", params=interpreters())
def environment(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A virtual environment with only the wheel in it, at a path that needs care."""

    def install(folder: Path) -> None:
        environment = folder / "an odd pfad ü"
        subprocess.run([request.param, "-I", "-m", "venv", environment], check=True)
        pip_install(environment / "bin/python", wheel)

    somewhere = filled_once(tmp_path_factory, f"somewhere{request.param_index}", install)
    return somewhere / "an odd pfad ü"


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What `train_lstm` dumps on the installation that these tests run on."""
    folder = tmp_path_factory.mktemp("expected")
    run_well(compile_client("train_lstm.c", folder), folder / "dump", cwd=folder)
    return (folder / "dump").read_bytes()


def config(environment: Path, *options: str) -> str:
    return run_well(environment / "bin/miopy-config", *options, cwd=environment.parent).strip()


def check_program(program: Path, expected: bytes, folder: Path) -> None:
    run_well(program, folder / "dump", cwd=folder)
    assert (folder / "dump").read_bytes() == expected


def test_config_tells_a_makefile_flags_that_work(
    environment: Path, expected: bytes, tmp_path: Path
) -> None:
    question = f"{shlex.quote(str(environment / 'bin/miopy-config'))} --cflags --libs"
    check_program(make_client("train_lstm.c", tmp_path, question), expected, tmp_path)


def test_pkg_config_tells_a_makefile_flags_that_work(
    environment: Path, expected: bytes, tmp_path: Path
) -> None:
    found = {"PKG_CONFIG_PATH": f"{config(environment, '--libdir')}/pkgconfig"}
    question = "pkg-config --cflags --libs miopen"
    check_program(make_client("train_lstm.c", tmp_path, question, **found), expected, tmp_path)


def test_cmake_builds_the_project(environment: Path, expected: bytes, tmp_path: Path) -> None:
    prefix = f"-DCMAKE_PREFIX_PATH={config(environment, '--prefix')}"
    build("cmake", "-S", SOURCES, "-B", "build", prefix, cwd=tmp_path)
    build("cmake", "--build", "build", "--target", "train_lstm", cwd=tmp_path)
    check_program(tmp_path / "build/train_lstm", expected, tmp_path)


def test_python_works_there(environment: Path) -> None:
    code = "import miopy; print(miopy.miopen.miopenCreate().backend.name, miopy.get_sdk())"
    out = run_well(environment / "bin/python", "-c", code, cwd=environment.parent)
    assert out.split(maxsplit=1) == ["host", config(environment, "--prefix") + "\n"]


def test_a_folder_of_its_own_is_served_by_python_on_path(
    wheel: Path, expected: bytes, tmp_path: Path
) -> None:
    target = tmp_path / "vendor"
    pip_install(sys.executable, "--target", target, wheel)
    with (target / "miopy/__init__.py").open("a") as package:
        package.write("\n__import__('os').write(1, b'from vendor')\n")
    program = compile_client("train_lstm.c", tmp_path, target / "miopy/_sdk")
    folder_of_python = sysconfig.get_config_var("BINDIR")
    out = run_well(program, tmp_path / "dump", cwd=tmp_path, PATH=folder_of_python)
    assert out.startswith("from vendor")  # and not from where these tests run
    assert (tmp_path / "dump").read_bytes() == expected


def test_the_wheel_holds_what_is_needed_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        sdk = {name.removeprefix("miopy/_sdk/") for name in names if "/_sdk/" in name}
    headers = {str(path.relative_to(ROOT)) for path in (ROOT / "include").rglob("*.h")}
    assert headers <= sdk
    assert {"lib/libMIOpen.so", "lib/libMIOpen.so.1", "lib/libamdhip64.so.6"} <= sdk
    assert {"lib/libcudnn_rnn.so", "lib/libcudnn_rnn.so.9", "cudnn/libcudnn.so.9"} <= sdk
    assert not {name for name in names if name.startswith(("tests/", "tools/", "miopy/capi/"))}
