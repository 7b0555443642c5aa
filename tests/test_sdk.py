"""Finding and using the SDK: miopy-config, CMake, pkg-config, and MIOpen's own library names."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from clients import SDK, SOURCES, build, make_client, run_well

import miopy
from miopy import config_command

SHAPE = ("1", "lstm", "8", "2", "3")  # for rnn_benchmark
FIND = """
cmake_minimum_required(VERSION 3.13)
project(find C)
find_package(MIOpen 99 QUIET)
if(MIOpen_FOUND)
  message(FATAL_ERROR "found MIOpen ${MIOpen_VERSION} for 99")
endif()
find_package(HIP REQUIRED)
find_package(MIOpen 3 REQUIRED)
foreach(target MIOpen hip::host hip::device hip::amdhip64)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "no target ${target}")
  endif()
endforeach()
foreach(value IN ITEMS "${MIOpen_LIBRARIES}" "${MIOPEN_LIBRARIES}" "${miopen_LIBRARIES}")
  if(NOT value STREQUAL MIOpen)
    message(FATAL_ERROR "a library is ${value}")
  endif()
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/found "${MIOpen_VERSION} ${HIP_INCLUDE_DIRS}")
"""


def ask(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert config_command.main(list(options)) == 0
    return capsys.readouterr().out.removesuffix("\n")


def test_config_tells_folders_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, "--prefix") == str(SDK)
    assert Path(ask(capsys, "--includedir"), "miopen/miopen.h").is_file()
    assert Path(ask(capsys, "--libdir"), "libMIOpen.so.1").is_file()
    assert Path(ask(capsys, "--cmakedir"), "miopen/miopen-config.cmake").is_file()
    assert ask(capsys, "--version") == miopy.__version__


def test_config_answers_in_the_order_of_the_questions(capsys: pytest.CaptureFixture[str]) -> None:
    libs, cflags = ask(capsys, "--libs"), ask(capsys, "--cflags")
    assert ask(capsys, "--libs", "--cflags") == f"{libs} {cflags}"


def test_config_quotes_flags_for_a_shell() -> None:
    sdk = Path("/opt/an odd/pfad ü")
    answers = config_command.answers(sdk)
    assert shlex.split(answers["cflags"])[0] == f"-I{sdk}/include"
    assert shlex.split(answers["libs"])[:2] == [f"-L{sdk}/lib", f"-Wl,-rpath,{sdk}/lib"]
    assert answers["libdir"] == f"{sdk}/lib"


def test_config_tells_the_flags_of_a_dialect(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, "--dialect", "miopen", "--libs") == ask(capsys, "--libs")
    assert ask(capsys, "--dialect", "cudnn", "--cflags") == shlex.join([f"-I{SDK / 'include'}"])
    libs = shlex.split(ask(capsys, "--dialect", "cudnn", "--libs"))
    assert libs == [f"-L{SDK / 'lib'}", f"-Wl,-rpath,{SDK / 'lib'}", "-lcudnn_rnn"]


def test_config_tells_folders_of_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--dialect", "onednn_v2")
    assert ask(capsys, *asked, "--cflags") == shlex.join([f"-I{SDK / 'include/onednn_v2'}"])
    folder = SDK / "onednn_v2"
    libs = shlex.split(ask(capsys, *asked, "--libs"))
    assert libs == [f"-L{folder}", f"-Wl,-rpath,{folder}", "-ldnnl"]
    assert Path(ask(capsys, *asked, "--cmakedir"), "miopen").is_dir()


@pytest.mark.parametrize("options", [[], ["--flags"], ["--dialect", "cudnn"], ["--dialect", "x"]])
def test_config_refuses_other_questions(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        config_command.main(options)
    assert ended.value.code == 2
    assert "usage: miopy-config" in capsys.readouterr().err


def test_config_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "miopy.config_command", "--prefix"]
    assert subprocess.check_output(command, text=True) == f"{SDK}\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of `tests/c`, built by CMake and installed."""
    folder = tmp_path_factory.mktemp("cmake")
    prefix = f"-DCMAKE_PREFIX_PATH={SDK}"
    build("cmake", "-S", SOURCES, "-B", folder / "build", prefix, cwd=folder)
    build("cmake", "--build", folder / "build", cwd=folder)
    build("cmake", "--install", folder / "build", "--prefix", folder / "installed", cwd=folder)
    return folder


@pytest.mark.parametrize("place", ["build", "installed/bin"])
def test_a_cmake_project_builds_and_runs(project: Path, place: str) -> None:
    folder = project / place
    assert run_well(folder / "train_lstm", project / "dump", cwd=project).count("\n") == 20
    assert "lstm" in run_well(folder / "rnn_benchmark", *SHAPE, cwd=project)


def test_cmake_finds_either_spelling_and_checks_versions(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(FIND)
    build("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={SDK}", cwd=tmp_path)
    version = ".".join(map(str, miopy.miopen.miopenGetVersion()))
    assert (tmp_path / "build/found").read_text() == f"{version} {SDK}/include"


def test_pkg_config_tells_a_makefile_flags_that_work(tmp_path: Path) -> None:
    found = {"PKG_CONFIG_PATH": str(SDK / "lib/pkgconfig")}
    question = "pkg-config --cflags --libs miopen"
    program = make_client("rnn_benchmark.cpp", tmp_path, question, **found)
    assert "lstm" in run_well(program, *SHAPE, cwd=tmp_path)


LOADING = """
import ctypes, sys
hip, miopen = (ctypes.CDLL(name) for name in ("libamdhip64.so.6", "libMIOpen.so.1"))
stream, handle = ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipStreamCreate(ctypes.byref(stream)) == 0
assert miopen.miopenCreateWithStream(ctypes.byref(handle), stream) == 0
found = ctypes.c_void_p()
assert miopen.miopenGetStream(handle, ctypes.byref(found)) == 0
assert found.value == stream.value
assert miopen.miopenDestroy(handle) == 0
print("loaded")
"""


def test_the_libraries_load_by_name(tmp_path: Path) -> None:
    command = (sys.executable, "-c", LOADING)
    assert run_well(*command, cwd=tmp_path, LD_LIBRARY_PATH=str(SDK / "lib")) == "loaded\n"
