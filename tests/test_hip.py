"""The HIP host library: its functions in C and C++, on host memory and on a stand-in for CUDA."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from clients import FLAGS, SDK, SOURCES, STANDARDS, build, compile_client, run, run_well

ROOT = Path(__file__).resolve().parent.parent
SYSTEM_LIBRARIES = ("libc.so.", "libdl.so.", "libpthread.so.", "ld-linux")
HEADERS = ("hip_runtime", "hip_runtime_api", "hip_version")
INCLUDE = f"-I{SDK / 'include'}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the programs, and a libcuda.so.1 that stands in for the driver."""
    folder = tmp_path_factory.mktemp("hip")
    source = SOURCES / "stand_in_cuda.c"
    library = folder / "libcuda.so.1"
    build("cc", "-std=c11", *FLAGS, "-shared", "-fPIC", source, "-o", library, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def behaviour(folder: Path) -> Path:
    return compile_client("hip_behaviour.c", folder)


@pytest.fixture(scope="module")
def sanitized(folder: Path) -> Path:
    """The same program with the library's sources in it, under the sanitizers."""
    program = folder / "sanitized"
    sources = [SOURCES / "hip_behaviour.c", *sorted((ROOT / "miopy/capi/hip").glob("*.c"))]
    flags = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover", INCLUDE)
    build("cc", "-std=c11", *FLAGS, *flags, *sources, "-o", program, "-ldl", cwd=folder)
    return program


def environment(memory: str, folder: Path) -> dict[str, str]:
    """Where the backend is chosen, and the stand-in is the driver."""
    return {"MIOPY_BACKEND": memory, "LD_LIBRARY_PATH": str(folder)}


@pytest.mark.parametrize("memory", ["", "auto", "host", "cuda"])
def test_the_library_behaves(behaviour: Path, folder: Path, memory: str) -> None:
    run_well(behaviour, cwd=folder, **environment(memory, folder))


@pytest.mark.parametrize("memory", ["host", "cuda"])
def test_the_library_behaves_under_the_sanitizers(
    sanitized: Path, folder: Path, memory: str
) -> None:
    options = {"ASAN_OPTIONS": "allocator_may_return_null=1"}
    done = run(sanitized, cwd=folder, **environment(memory, folder), **options)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("memory", ["host", "cuda"])
def test_cplusplus_has_typed_pointers_and_defaults(folder: Path, memory: str) -> None:
    program = compile_client("hip_templates.cpp", folder)
    run_well(program, cwd=folder, **environment(memory, folder))


@pytest.mark.parametrize(
    ("memory", "variables", "reason"),
    [
        ("cuda", {}, "libcuda.so.1, the NVIDIA driver, cannot be loaded"),
        ("cuda", {"STAND_IN_DEVICES": "0"}, "the NVIDIA driver sees no device"),
        ("vulkan", {}, "there is no backend of that name; known are auto, host, cuda"),
    ],
)
def test_a_missing_backend_is_named_once_and_fails_every_call(
    folder: Path, memory: str, variables: dict[str, str], reason: str
) -> None:
    program = compile_client("hip_missing.c", folder)
    if variables:
        variables = {**variables, "LD_LIBRARY_PATH": str(folder)}
    done = run(program, cwd=folder, MIOPY_BACKEND=memory, **variables)
    assert done.stderr == f"libamdhip64: MIOPY_BACKEND cannot be '{memory}': {reason}\n"
    assert done.returncode == 0


def test_a_driver_without_a_function_is_refused(folder: Path, tmp_path: Path) -> None:
    library = tmp_path / "libcuda.so.1"
    build("cc", "-shared", "-x", "c", "/dev/null", "-o", library, cwd=tmp_path)
    program = compile_client("hip_missing.c", folder)
    done = run(program, cwd=tmp_path, **environment("cuda", tmp_path))
    assert done.returncode == 0
    assert done.stderr.endswith("cannot be 'cuda': libcuda.so.1 has no cuInit\n")


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("standard", STANDARDS.values(), ids=lambda standard: standard[1])
def test_a_header_compiles_alone_and_twice(
    standard: tuple[str, str], header: str, tmp_path: Path
) -> None:
    source = tmp_path / ("client.cpp" if standard[0] == "c++" else "client.c")
    source.write_text(f"#include <hip/{header}.h>\n" * 2 + "int unused;\n")
    build(*standard, *FLAGS, "-fsyntax-only", INCLUDE, source, cwd=tmp_path)


def exported_symbols(library: Path) -> dict[str, str]:
    """Name and version node of what a library offers."""
    listing = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", library], check=True, capture_output=True, text=True
    ).stdout
    return dict(re.findall(r"FUNC +GLOBAL DEFAULT +\d+ (\w+)@@(\S+)", listing))


def test_the_library_exports_what_the_header_declares() -> None:
    text = (ROOT / "include/hip/hip_runtime_api.h").read_text()
    declared = set(re.findall(r"^MIOPY_HIP_EXPORT [^(]*?(\w+)\(", text, re.MULTILINE))
    assert len(declared) == 34
    assert exported_symbols(SDK / "lib/libamdhip64.so.6") == dict.fromkeys(declared, "hip_4.2")


def test_the_library_has_the_soname_of_rocm() -> None:
    for name in ("libamdhip64.so", "libamdhip64.so.6"):
        dynamic = subprocess.run(
            ["readelf", "--dynamic", SDK / "lib" / name], check=True, capture_output=True, text=True
        ).stdout
        assert "soname: [libamdhip64.so.6]" in dynamic
        for needed in re.findall(r"NEEDED.*\[(.*)\]", dynamic):
            assert needed.startswith(SYSTEM_LIBRARIES)
