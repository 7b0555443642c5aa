"""C and C++ programs on libdnnl, in an empty environment: they check themselves, or write what the
passes wrote, and it is what the same calls from Python write, bit for bit."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clients import SDK, SOURCES, Dump, build, compile_client, make_client, run_well

from miopy import onednn as dnn

STEPS, BATCH, WIDTH, LAYERS = 5, 3, 8, 2
STATE, MATRIX = (LAYERS, 1, BATCH, WIDTH), (LAYERS, 1, WIDTH, 4, WIDTH)
# Tensors in the order of the primitives' arguments: name, dimensions, tag, index.
TENSORS: dict[str, tuple[tuple[int, ...], int, int]] = {
    "x": ((STEPS, BATCH, WIDTH), dnn.dnnl_tnc, dnn.DNNL_ARG_SRC_LAYER),
    "hx": (STATE, dnn.dnnl_ldnc, dnn.DNNL_ARG_SRC_ITER),
    "cx": (STATE, dnn.dnnl_ldnc, dnn.DNNL_ARG_SRC_ITER_C),
    "w": (MATRIX, dnn.dnnl_ldigo, dnn.DNNL_ARG_WEIGHTS_LAYER),
    "r": (MATRIX, dnn.dnnl_ldigo, dnn.DNNL_ARG_WEIGHTS_ITER),
    "b": ((LAYERS, 1, 4, WIDTH), dnn.dnnl_ldgo, dnn.DNNL_ARG_BIAS),
    "y": ((STEPS, BATCH, WIDTH), dnn.dnnl_tnc, dnn.DNNL_ARG_DST_LAYER),
    "hy": (STATE, dnn.dnnl_ldnc, dnn.DNNL_ARG_DST_ITER),
    "cy": (STATE, dnn.dnnl_ldnc, dnn.DNNL_ARG_DST_ITER_C),
}
MATRICES = {"w": 0, "r": 1}  # and their index in queries
OUTPUTS, INPUTS = ("y", "hy", "cy"), ("x", "hx", "cx", "w", "r", "b")
GRADIENT = 128  # from a tensor's index to its gradient's


def described(name: str, tag: int | None = None) -> Any:
    dims, own, _ = TENSORS[name]
    tag = own if tag is None else tag
    return dnn.dnnl_memory_desc_create_with_tag(len(dims), dims, dnn.dnnl_f32, tag)


class Trainer:
    """The same network as `train_onednn.c`, on the data that it wrote."""

    def __init__(self, dump: Dump):
        self.engine = dnn.dnnl_engine_create(dnn.dnnl_cpu, 0)
        self.stream = dnn.dnnl_stream_create(self.engine, dnn.dnnl_stream_default_flags)
        self.arrays = {name: dump.floats(name) for name in INPUTS}
        self.arrays |= {
            name: np.zeros(int(np.prod(TENSORS[name][0])), np.float32) for name in OUTPUTS
        }
        self.gradients = {name: np.zeros_like(array) for name, array in self.arrays.items()}
        given = [
            described(name, dnn.dnnl_format_tag_any if name in MATRICES else None)
            for name in TENSORS
        ]
        lstm = [*given[:5], None, None, *given[5:]]
        direction = dnn.dnnl_unidirectional_left2right
        self.inference, self.forward = (
            dnn.dnnl_lstm_forward_primitive_desc_create(
                self.engine, kind, direction, *lstm, 0, None
            )
            for kind in (dnn.dnnl_forward_inference, dnn.dnnl_forward_training)
        )
        overwrite = dnn.dnnl_rnn_flags_diff_weights_overwrite
        self.backward = dnn.dnnl_lstm_backward_primitive_desc_create(
            *(self.engine, dnn.dnnl_backward, direction, *lstm, *lstm, overwrite),
            *(self.forward, None),
        )
        self.workspace = self.ask(self.forward, dnn.dnnl_query_workspace_md, 0)

    def ask(self, desc: Any, what: int, index: int) -> Any:
        """Memory as a primitive wants it."""
        own = dnn.dnnl_primitive_desc_query_md(desc, what, index)
        return dnn.dnnl_memory_create(own, self.engine, dnn.DNNL_MEMORY_ALLOCATE)

    def reorder(self, source: Any, target: Any) -> None:
        descs = [dnn.dnnl_memory_get_memory_desc(each) for each in (source, target)]
        desc = dnn.dnnl_reorder_primitive_desc_create(
            descs[0], self.engine, descs[1], self.engine, None
        )
        args = [(dnn.DNNL_ARG_FROM, source), (dnn.DNNL_ARG_TO, target)]
        dnn.dnnl_primitive_execute(dnn.dnnl_primitive_create(desc), self.stream, 2, args)

    def execute(self, desc: Any) -> None:
        args, answers = [(dnn.DNNL_ARG_WORKSPACE, self.workspace)], []
        for name, (_, _, index) in TENSORS.items():
            value, gradient = (
                dnn.dnnl_memory_create(described(name), self.engine, arrays[name])
                for arrays in (self.arrays, self.gradients)
            )
            if name in MATRICES:
                plain, value = value, self.ask(desc, dnn.dnnl_query_weights_md, MATRICES[name])
                self.reorder(plain, value)
            if name in MATRICES and desc is self.backward:
                plain = gradient
                gradient = self.ask(desc, dnn.dnnl_query_diff_weights_md, MATRICES[name])
                answers.append((gradient, plain))
            args += [(index, value), (index + GRADIENT, gradient)]
        primitive = dnn.dnnl_primitive_create(desc)
        dnn.dnnl_primitive_execute(primitive, self.stream, len(args), args)
        for own, plain in answers:
            self.reorder(own, plain)
        dnn.dnnl_stream_wait(self.stream)

    def check(self, dump: Dump, epochs: int) -> None:
        """The rest of the dump is what these passes write."""
        self.execute(self.inference)
        dump.expect(**{name: self.arrays[name] for name in OUTPUTS})
        for _ in range(epochs):
            self.execute(self.forward)
            dump.expect(**{name: self.arrays[name] for name in OUTPUTS})
            self.gradients["y"][:] = dump.floats("dy")
            self.execute(self.backward)
            dump.expect(**{f"d{name}": self.gradients[name] for name in INPUTS})
            for name in ("w", "r", "b"):
                self.arrays[name] -= np.float32(2.0) * self.gradients[name]
        dump.expect(**{name: self.arrays[name] for name in ("w", "r", "b")})
        assert not dump.rest


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Training as C with the flags of miopy-config."""
    return compile_client("train_onednn.c", tmp_path_factory.mktemp("c"), dialects=("onednn",))


@pytest.fixture(scope="module")
def expected(program: Path) -> bytes:
    """What it writes."""
    run_well(program, program.with_suffix(".expected"), cwd=program.parent)
    return program.with_suffix(".expected").read_bytes()


def test_training_in_c_equals_python_and_the_loss_falls(program: Path) -> None:
    dump = Dump(program)
    losses = [float(line) for line in dump.printed.split()]
    assert len(losses) == 20 and losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.8 * losses[0]
    Trainer(dump).check(dump, len(losses))


def test_a_client_finds_the_statuses_that_it_expects(tmp_path: Path) -> None:
    run_well(compile_client("onednn_bad_inputs.c", tmp_path, dialects=("onednn",)), cwd=tmp_path)


CMAKE = """
cmake_minimum_required(VERSION 3.13)
project(clients C CXX)
find_package(dnnl 99 CONFIG QUIET)
if(dnnl_FOUND)
  message(FATAL_ERROR "found dnnl ${dnnl_VERSION} for 99")
endif()
find_package(dnnl 3.0 CONFIG REQUIRED)
foreach(language c cpp)
  add_executable(train_${language} train.${language})
  target_link_libraries(train_${language} PRIVATE DNNL::dnnl)
endforeach()
target_compile_options(train_c PRIVATE -ffp-contract=off)
target_compile_options(train_cpp PRIVATE -ffp-contract=off)
"""


def test_version_2_in_c_is_version_3(tmp_path: Path, expected: bytes) -> None:
    program = compile_client("train_onednn.c", tmp_path, dialects=("onednn_v2",))
    run_well(program, tmp_path / "dump", cwd=tmp_path)
    assert (tmp_path / "dump").read_bytes() == expected


@pytest.mark.parametrize("version", [3, 2])
def test_cmake_builds_c_and_cpp(tmp_path: Path, expected: bytes, version: int) -> None:
    prefix = SDK if version == 3 else SDK / "onednn_v2"
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.replace("3.0", f"{version}.0"))
    for suffix in ("c", "cpp"):
        shutil.copy(SOURCES / "train_onednn.c", tmp_path / f"train.{suffix}")
    for header in ("results.h", "check.h"):
        shutil.copy(SOURCES / header, tmp_path)
    build("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=tmp_path)
    build("cmake", "--build", "build", cwd=tmp_path)
    for program in ("train_c", "train_cpp"):
        run_well(tmp_path / "build" / program, tmp_path / program, cwd=tmp_path)
        assert (tmp_path / program).read_bytes() == expected, program


@pytest.mark.parametrize("folder", ["lib", "onednn_v2/lib"])
def test_pkg_config_tells_a_makefile_flags_that_work(
    tmp_path: Path, expected: bytes, folder: str
) -> None:
    found = {"PKG_CONFIG_PATH": str(SDK / folder / "pkgconfig")}
    question = "pkg-config --cflags --libs dnnl"
    program = make_client("train_onednn.c", tmp_path, question, **found)
    run_well(program, tmp_path / "dump", cwd=tmp_path)
    assert (tmp_path / "dump").read_bytes() == expected
