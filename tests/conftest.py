"""The `backend` fixture: every numeric test runs on every backend that can be used here, and on the
CUDA backend over an emulated device.

`--backend NAME` runs them on that one alone, and makes its absence an error, so that a run meant
for a device cannot pass by leaving it out.
"""

from __future__ import annotations

from collections.abc import Iterator

import hostcuda
import pytest
from hostcuda.device import count_damaged
from hypothesis import settings

from miopy import backends
from miopy.backends import cuda, host

EMULATED = "emulated"

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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--backend")
        usable = [name for name in backends.NAMES if not backends.why_missing(name)]
        names = [chosen] if chosen else [*usable, EMULATED]
        metafunc.parametrize("backend", names, indirect=True)


@pytest.fixture
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The backend that handles created in this test will use."""
    if request.param == EMULATED:
        monkeypatch.setattr(cuda, "create", hostcuda.create)
        monkeypatch.setattr(cuda, "why_missing", lambda: None)
    monkeypatch.setenv("MIOPY_BACKEND", "cuda" if request.param == EMULATED else request.param)
    return request.param


@pytest.fixture(autouse=True)
def undamaged() -> Iterator[None]:
    """No test's kernels write beside a block of the emulated device's memory."""
    yield
    assert count_damaged() == 0


@pytest.fixture(params=host.builds())
def host_device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> object:
    """A host backend for every build of its kernels that this machine can run; so are handles."""
    monkeypatch.setenv("MIOPY_BACKEND", "host")
    monkeypatch.setenv("MIOPY_ISA", request.param)
    return host.create()
