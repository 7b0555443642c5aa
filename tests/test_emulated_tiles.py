"""The host's build for AMX on machines that have AVX-512 but no AMX: over emulated tiles."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import emulated_tiles
import pytest
import test_matrix_unit

from miopy.backends import host

ROOT = Path(__file__).resolve().parent.parent
# The one place that says where this build is not tested at all.
pytestmark = pytest.mark.skipif(
    "avx512" not in host.builds(), reason="kernels for AMX need AVX-512 for all but their tiles"
)


def python(*arguments: str, **variables: str) -> str:
    """What Python prints that finds the tests' modules; it must succeed."""
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "tools"), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": path} | variables
    environment.pop("MIOPY_ISA", None)
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("compiler", list(filter(shutil.which, ("gcc", "clang-19"))))
def test_compilers_have_the_unit_or_build_without_it(compiler):
    """GCC and Clang have other headers of it. The last are as if there were none."""
    command = [compiler, "-fsyntax-only", f"-I{emulated_tiles.HOST}", "-x", "c", "-"]
    text = '#include "matrix_unit.h"\n#ifndef HAS_MATRIX_UNIT\n#error without\n#endif\n'
    subprocess.run([*command, "-Wall", "-Werror"], input=text, text=True, check=True)
    text = "#define MIOPY_MATRIX_UNIT_H\n"
    text += "int may_use_matrix_unit(void), has_pairs(void), has_halves(void);\n"
    builds = "amx_bf16", "amx_float", "avx512_bf16"
    files = *(f"builds/{build}" for build in builds), "kernels", "matrix_unit"
    text += "".join(f'#include "{name}.c"\n' for name in files)
    subprocess.run([*command, "-Wall", "-Werror"], input=text, text=True, check=True)


# Plain products and recurrences; the others only where they do not run on a unit as well.
MODULES = ["test_matrix_unit", "test_host_pairs"]
if "amx" not in host.builds():
    MODULES += ["test_matrix", "test_host_paths", "test_host_workers"]


@pytest.mark.parametrize("module", MODULES)
def test_module_passes(module):
    """Without what tiles have no part in, and half, which is float before it meets them; and with
    two cells, which take them as the others do but are half of the time."""
    chosen = "not float64 and (bfloat16 or not float16) and not gru and not relu and not broadcast"
    chosen += " and not lanes and not where_in_a_line and not (deep_panels and lstm)"
    chosen += " and not few_sequences and not slower_ones"
    chosen += " and not side_by_side_replace"  # which asks for another build
    options = "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-k", chosen
    printed = python("-m", "emulated_tiles", *options, f"tests/{module}.py", MIOPY_BACKEND="host")
    assert " passed" in printed and "skipped" not in printed


def test_number_of_threads_changes_no_bit_and_the_unit_computes_the_same(monkeypatch):
    program = "import emulated_tiles; emulated_tiles.install()\nimport test_matrix_unit as tests\n"
    program += "print('bits', tests.all_bits())"
    found = {
        python("-c", program, MIOPY_NUM_THREADS=threads).rpartition("bits ")[2].strip()
        for threads in "1235"
    }
    if "amx" in host.builds():
        monkeypatch.setenv("MIOPY_ISA", "amx")
        found.add(test_matrix_unit.all_bits())
    assert len(found) == 1


FAULTS = {
    "used without a configuration": "_tile_zero(0);",
    "a configuration given back": "configure(); _tile_release(); _tile_zero(0);",
    "before they were given back": "configure(); configure();",
    "of no size": "configure(); _tile_zero(2);",
    "used twice": "configure(); _tile_dpbf16ps(0, 1, 1);",
    "do not match": "configure(); _tile_dpbf16ps(1, 0, 7);",
    "reserved": "bytes[5] = 1; configure();",
    "no possible size": "bytes[48] = 17; configure();",
    "another palette": "bytes[0] = 2; configure();",
}
# Tiles 0, 1 and 7 are of 2 rows, of 4, 8 and 4 bytes.
PROGRAM = """
static unsigned char bytes[64] = {
    [0] = 1, [16] = 4, [18] = 8, [30] = 4, [48] = 2, [49] = 2, [55] = 2};
static void configure(void) { _tile_loadconfig(bytes); }
int main(int count, char **arguments)
{
    float sums[2] = {0};
    switch (atoi(arguments[count - 1])) {
    CASES
    default:
        configure();
        _tile_stored(0, sums, 4);
        if (sums[0] == sums[0])
            return 1;
        _tile_zero(0);
        _tile_stored(0, sums, 4);
        return sums[0] || sums[1];
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of all faults, by number."""
    program = tmp_path_factory.mktemp("tiles") / "faults"
    cases = (f"case {number}: {fault} break;" for number, fault in enumerate(FAULTS.values()))
    text = PROGRAM.replace("CASES", "\n".join(cases))
    header = str(emulated_tiles.TILES / "tiles.h")
    command = ["cc", "-O1", "-include", header, "-x", "c", "-", "-o", str(program)]
    subprocess.run(command, input=text, text=True, check=True)
    return program


@pytest.mark.parametrize("number", range(len(FAULTS)), ids=list(FAULTS))
def test_what_the_unit_would_not_do_ends_the_process(faults, number):
    done = subprocess.run([faults, str(number)], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGABRT
    assert list(FAULTS)[number] in done.stderr


def test_tiles_hold_nothing_until_they_are_set(faults):
    subprocess.run([faults, "-1"], check=True)
