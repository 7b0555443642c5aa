"""The `backend` fixture: every numeric test runs on the host and, over an emulated device, on the
CUDA backend.

`--backend NAME` runs them on that one alone, and makes its absence an error, so that a run meant
for a device cannot pass by leaving it out. `--backend cuda` is a run on a real GPU: arrays of NumPy
lie where it can reach them (`pinned.py`), and tests marked `gpu` are collected as well.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import hostcuda
import pinned
import pytest
from hostcuda.device import count_damaged
from hypothesis import settings

from miopy import backends
from miopy.backends import cuda, host
from miopy.dialects.mpsgraph import memory as mpsgraph_memory
from miopy.dialects.tensorflow_cudnn import memory as tensorflow_memory

EMULATED, REAL = "emulated", "cuda"

settings.register_profile("miopy", deadline=None, derandomize=True, database=None)
settings.load_profile("miopy")


def pytest_addoption(parser: pytest.Parser) -> None:
    choices = (*backends.NAMES, EMULATED)
    parser.addoption("--backend", choices=choices, help="run numeric tests on this alone")


def pytest_configure(config: pytest.Config) -> None:
    name = config.getoption("--backend")
    reason = name and name != EMULATED and backends.why_missing(name)
    if reason:
        raise pytest.UsageError(f"--backend {name}: {reason}")
    if name == REAL:
        pinned.use_device()
        pinned.install()
    os.environ.setdefault("MIOPY_BACKEND", "host")  # of tests that do not ask for another


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a GPU, tests that need one do not exist."""
    if config.getoption("--backend") != REAL:
        gone = [item for item in items if item.get_closest_marker("gpu")]
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=gone)


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: nobody needs to look through them again and again."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test's backends, and builds, come one after another, so that what the reference gave for
    the first is still there for the next."""
    if "backend" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--backend")
        names = [chosen] if chosen else ["host", EMULATED]
        metafunc.parametrize("backend", names, indirect=True)
    if "build" in metafunc.fixturenames:
        builds = getattr(metafunc.module, "BUILDS", host.builds())
        metafunc.parametrize("build", builds, indirect=True)


def forget_backends() -> None:
    """Those of dialects that have one for the process."""
    tensorflow_memory.home.cache_clear()
    mpsgraph_memory.home.cache_clear()


@pytest.fixture
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The backend that handles created in this test will use, and TensorFlow's and
    MPSGraph's operations, which have one for the process."""
    if request.param in (EMULATED, REAL):
        create = hostcuda.create if request.param == EMULATED else pinned.create
        monkeypatch.setattr(cuda, "create", create)
        monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setenv("MIOPY_BACKEND", "cuda" if request.param == EMULATED else request.param)
    forget_backends()
    yield request.param
    forget_backends()


@pytest.fixture(autouse=True)
def undamaged() -> Iterator[None]:
    """No test's kernels write beside a block of the emulated device's memory."""
    yield
    assert count_damaged() == 0


@pytest.fixture
def build(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every build of the host's kernels that this machine can run, or those of a module's BUILDS:
    handles created in this test use it."""
    monkeypatch.setenv("MIOPY_BACKEND", "host")
    monkeypatch.setenv("MIOPY_ISA", request.param)
    return request.param


@pytest.fixture
def host_device(build: str) -> object:
    """A host backend of that build."""
    return host.create()
