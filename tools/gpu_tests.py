"""Part of gpu_check that runs the numeric tests, and the plugin of pytest that it runs them with.

Tests take turns in an order that depends on their names alone, those of a real GPU first; each
process takes its share of them and stops when the time is up. So what has run is the front of one
fixed list, and a sample of all files.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST_PROCESSES = 12
MOST_FAILURES = 5  # of a process: after a fault of the device all that follows fails
LAST = 5.0  # seconds of a part's time for imports, and for the tests that run when it ends
SMOKE = ("tests/test_repeat.py", "-k", "each_pass_twice and gru")  # of the emulated device


def numeric(device: str, seconds: float) -> Iterator[dict[str, Any]]:
    """Rows of all processes, as they come. They end before the time is up: later rows are lost."""
    seconds = max(seconds - LAST, seconds / 2)
    emulated = device == "emulated"
    count = 1 if emulated else min(MOST_PROCESSES, os.cpu_count() or 1)
    path = os.pathsep.join([str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")])
    options = ("-q", "-p", "gpu_tests", "-p", "no:cacheprovider", f"--maxfail={MOST_FAILURES}")
    reading, writing = os.pipe()
    started = []
    for share in range(count):
        command = [sys.executable, "-m", "pytest", "--backend", device, *options]
        command += ["--share", f"{share}/{count}", "--seconds", str(seconds)]
        command += ["--rows", str(writing), *(SMOKE if emulated else ())]
        # Threads of NumPy would only be in the way of the other processes.
        environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
        started.append(
            subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=sys.stderr, pass_fds=[writing]
            )
        )
    os.close(writing)
    with open(reading) as rows:
        yield from map(json.loads, rows)
    statuses = [process.wait() for process in started]
    for status in statuses:
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            yield {"name": "pytest", "passed": False, "detail": f"ended with status {status}"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", help="i/n: every n-th numeric test from the i-th on")
    parser.addoption("--seconds", type=float, help="start no test after so many")
    parser.addoption("--rows", type=int, help="file descriptor that outcomes are written to")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--share"):
        config.pluginmanager.register(Share(config))


class Share:
    """What a process runs, and what it tells of it."""

    def __init__(self, config: pytest.Config) -> None:
        self.end = time.monotonic() + config.getoption("--seconds")
        self.index, self.count = map(int, config.getoption("--share").split("/"))
        self.rows = os.fdopen(config.getoption("--rows"), "w", buffering=1)
        self.detail: dict[str, str] = {}
        self.outcome: dict[str, str] = {}

    def tell(self, **row: Any) -> None:
        """One line, short enough that lines of several processes do not mix."""
        self.rows.write(json.dumps(row) + "\n")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        chosen = sorted(filter(is_numeric, items), key=order)
        if self.index == 0:
            self.tell(total=len(chosen))
        items[:] = chosen[self.index :: self.count]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.tell(name=report.nodeid, passed=False, detail=essence(report), count=0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid
        if report.outcome != "passed" and self.outcome.get(name) != "failed":
            self.outcome[name] = report.outcome
            self.detail[name] = essence(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        outcome = self.outcome.get(nodeid, "passed")
        if outcome == "passed":
            self.tell(name=nodeid, passed=True)
        elif outcome == "skipped":
            self.tell(name=nodeid, skipped=self.detail[nodeid])
        else:
            self.tell(name=nodeid, passed=False, detail=self.detail[nodeid])

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if time.monotonic() > self.end:
            pytest.exit("the time is up", pytest.ExitCode.OK)


def essence(report: pytest.CollectReport | pytest.TestReport) -> str:
    """Why a test failed or was skipped, in a line."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    lines = [line for line in str(text).splitlines() if line.startswith("E ")]
    return " ".join(lines or str(text).splitlines())[:500]


def is_numeric(item: pytest.Item) -> bool:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return "backend" in parameters or item.get_closest_marker("gpu") is not None


def order(item: pytest.Item) -> tuple[bool, str]:
    is_other = item.get_closest_marker("gpu") is None
    return is_other, hashlib.sha256(item.nodeid.encode()).hexdigest()
