"""Threads of the host backend: forks, sharing, idleness, and what remains of destroyed handles."""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import itertools
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cases import BATCH_PADDED, Case
from clients import FLAGS, ROOT, SOURCES, build, run_well
from core_run import CoreRun
from fences import fenced_scratch
from harness import Run
from onednn_harness import OnednnCase
from onednn_run import OnednnRun

from miopy import miopen as mi
from miopy import onednn
from miopy.backends import host
from miopy.core.config import RNNConfig
from miopy.core.forks import cached_property
from miopy.errors import BadParam

CONFIG = RNNConfig("lstm", 40, 48, 2, "concat")
BATCH_SIZES = tuple(range(20, 0, -1))
LONG = RNNConfig("lstm", 512, 512)


@pytest.fixture(autouse=True)
def three_threads(monkeypatch):
    monkeypatch.setenv("MIOPY_NUM_THREADS", "3")
    monkeypatch.setenv("MIOPY_BACKEND", "host")


def small_run(device: host.HostBackend) -> CoreRun:
    return CoreRun(device, CONFIG, BATCH_SIZES)


def in_child(work: Callable[[], bytes]) -> bytes:
    """What `work` returns in a forked child, which has a minute."""
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(sink, work())
        finally:
            os._exit(0)
    os.close(sink)
    ready, _, _ = select.select([source], [], [], 60)
    if not ready:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(source, "rb") as stream:
        return stream.read() if ready else b"the child hung"


def digest(run: CoreRun) -> bytes:
    """Few enough bytes for a pipe."""
    return np.frombuffer(run.results(), np.uint32).sum(dtype=np.uint64).tobytes()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_computes_the_same_and_so_does_its_parent():
    run = small_run(host.create())
    expected = digest(run)
    assert in_child(lambda: digest(run)) == expected
    assert digest(run) == expected
    assert in_child(lambda: in_child(lambda: digest(run))) == expected


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_computes():
    device = host.create()
    run, busy = small_run(device), small_run(device)
    expected, stop = digest(run), threading.Event()

    def compute() -> None:
        while not stop.is_set():
            busy.results()

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        for _ in range(10):
            assert in_child(lambda: digest(run)) == expected
    finally:
        stop.set()
        thread.join()
    assert digest(run) == expected


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_a_primitive_of_onednn_executes():
    run = OnednnRun(OnednnCase("lstm"), "host")
    kind = onednn.dnnl_forward_inference
    expected = run.execute(kind)["dst_iter"].tobytes()
    with run.engine.lock:  # as an execution holds it
        assert in_child(lambda: run.execute(kind)["dst_iter"].tobytes()) == expected


class Slow:
    """A property that a thread may be long about."""

    def __init__(self, entered: threading.Event, leave: threading.Event) -> None:
        self.entered, self.leave = entered, leave

    @cached_property
    def value(self) -> bytes:
        self.entered.set()
        self.leave.wait(60)
        return b"computed"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_computes_a_property():
    entered, leave, left = threading.Event(), threading.Event(), threading.Event()
    left.set()
    thread = threading.Thread(target=lambda: Slow(entered, leave).value)
    thread.start()
    try:
        assert entered.wait(60)
        assert in_child(lambda: Slow(threading.Event(), left).value) == b"computed"
    finally:
        leave.set()
        thread.join()


def in_threads(count: int, work: Callable[[int], bytes]) -> list[bytes]:
    results = [b""] * count

    def one(number: int) -> None:
        results[number] = work(number)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_handles_in_threads_of_their_own_compute_the_same():
    expected = small_run(host.create()).results()
    devices = [host.create() for _ in range(8)]
    found = in_threads(8, lambda number: small_run(devices[number]).results())
    assert found == [expected] * 8


def test_threads_may_share_a_handle():
    device = host.create()
    expected = small_run(device).results()
    for found in in_threads(4, lambda number: small_run(device).results()):
        assert found == expected


@pytest.mark.skipif(sys.platform != "linux", reason="counts what /proc tells")
def test_destroyed_handles_leave_no_threads_and_no_memory():
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    def churn(count: int) -> None:
        for _ in range(count):
            run.handle = mi.miopenCreate()
            function, arguments = run.call("forward_inference")
            function(*arguments)
            assert len(os.listdir("/proc/self/task")) >= 3
            mi.miopenDestroy(run.handle)

    run = Run(Case("gru", (20, 20), 3, 128))  # enough work to wake threads
    churn(50)
    gc.collect()
    threads, memory = len(os.listdir("/proc/self/task")), resident()
    churn(150)
    assert len(os.listdir("/proc/self/task")) <= threads
    assert resident() - memory < 2 * 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="counts what /proc tells")
@pytest.mark.parametrize(("num_layers", "workers"), [(1, 2), (3, 2), (1, 5)])
def test_short_passes_start_threads_only_where_they_follow_each_other(
    monkeypatch, num_layers, workers
):
    monkeypatch.setenv("MIOPY_NUM_THREADS", str(workers))
    run = Run(Case("lstm", (1,) * 6, 128, 128, num_layers))
    function, arguments = run.call("forward_inference")
    threads = len(os.listdir("/proc/self/task"))

    def started(pause: float) -> int:
        for _ in range(50):
            function(*arguments)
            if pause:
                time.sleep(pause)
        return len(os.listdir("/proc/self/task")) - threads

    alone = run.forward_inference()["y"].tobytes()
    assert started(2e-3) == 0
    deadline = time.monotonic() + 20  # others may use the processors for a while
    while not started(0) and time.monotonic() < deadline:
        pass
    assert started(0) == workers - 1
    assert run.forward_inference()["y"].tobytes() == alone


def test_python_runs_while_a_layer_computes():
    run = CoreRun(host.create(), LONG, (16,) * 120)
    run.forward()
    thread, count = threading.Thread(target=run.forward), 0
    thread.start()
    while thread.is_alive():
        time.sleep(1e-3)
        count += 1
    assert count > 5


def test_idle_threads_sleep():
    device = host.create()
    small_run(device).results()
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.05


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "two", "1025", " "])
def test_a_bad_number_of_threads_is_refused(monkeypatch, value):
    monkeypatch.setenv("MIOPY_NUM_THREADS", value)
    with pytest.raises(BadParam, match=r"MIOPY_NUM_THREADS.*from 1 to 1024, got") as raised:
        mi.miopenCreate()
    assert raised.value.status == mi.miopenStatusBadParm


def test_more_threads_than_processors_or_sequences_compute_the_same(monkeypatch):
    expected = small_run(host.create()).results()
    monkeypatch.setenv("MIOPY_NUM_THREADS", "21")
    assert small_run(host.create()).results() == expected


def test_the_fastest_build_is_chosen(monkeypatch):
    """AVX512_BF16 is slow on Intel's cores."""
    monkeypatch.delenv("MIOPY_ISA", raising=False)
    cpuinfo = Path("/proc/cpuinfo")
    is_intel = cpuinfo.exists() and "GenuineIntel" in cpuinfo.read_text()
    slow = ("avx512_bf16",) * is_intel
    assert host.build() == next(build for build in host.builds() if build not in slow)


def test_builds_have_the_numbers_of_the_kernels():
    named = ("AMX", "PAIRS", "AVX512", "AVX2", "BASE")
    assert [getattr(host.lib, f"{name}_BUILD") for name in named] == list(range(len(host.BUILDS)))


@pytest.mark.parametrize("value", ["avx", "AVX2", "sse2"])
def test_an_unknown_instruction_set_is_refused(monkeypatch, value):
    monkeypatch.setenv("MIOPY_ISA", value)
    with pytest.raises(BadParam, match=r"MIOPY_ISA.*must be one of .*base on this machine, got"):
        mi.miopenCreate()


def test_environment_of_later_handles_does_not_concern_earlier_ones(monkeypatch):
    device = host.create()
    run = small_run(device)
    expected = run.results()
    monkeypatch.setenv("MIOPY_ISA", "base")
    monkeypatch.setenv("MIOPY_NUM_THREADS", "1")
    assert run.results() == expected


def test_destroying_no_pool_is_allowed():
    host.lib.pool_destroy(host.ffi.NULL)


# Shapes that threads share in every way: by sequence, by unit, more threads than sequences.
SHARED = (
    Case(lengths=tuple(range(24, 0, -1)), input_size=40, hidden_size=48, num_layers=2, dropout=0.3),
    Case(lengths=(9, 0, 4) * 9, input_size=5, hidden_size=20, layout=BATCH_PADDED, dtype="float16"),
    Case(lengths=(7, 7, 1), input_size=150, hidden_size=150, skip_input=True),
    Case(lengths=(12,), input_size=3, hidden_size=40, num_layers=3, bias=False),
    Case(lengths=(5, 5, 4, 4), input_size=70, hidden_size=90),
    Case(lengths=(6, 6, 5, 4, 4, 2, 1), input_size=70, hidden_size=90),
    Case(lengths=(30, 30, 9, 2), input_size=130, hidden_size=250),
    Case(lengths=(30, 30, 9, 2), input_size=600, hidden_size=300),
    Case(lengths=(7,) * 9 + (6,) * 11, input_size=240, hidden_size=140),
    Case(lengths=(7,) * 9 + (6,) * 11, input_size=240, hidden_size=300),
    Case(lengths=(25, 9, 4), input_size=30, hidden_size=640),
    Case(lengths=(3, 1), input_size=30, hidden_size=333),
    Case(lengths=(2,) * 11 + (1,) * 4, input_size=30, hidden_size=333),
)


def all_bits() -> str:
    """One line per mode and shape: a hash of every result."""
    lines = []
    for mode, case in itertools.product(("tanh", "lstm", "gru"), SHARED):
        run = Run(dataclasses.replace(case, mode=mode, num_directions=2))
        passes = (run.forward_inference(), run.forward_training(), run.backward_data())
        results = [*passes, run.backward_weights()]
        joined = b"".join(array.tobytes() for result in results for array in result.values())
        lines.append(f"{mode} {case.lengths} {hashlib.sha256(joined).hexdigest()}")
    return "\n".join(lines)


def in_a_process(name: str, **environment: str) -> str:
    """What such a function here answers on the host backend of a new process."""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    environment |= {"MIOPY_BACKEND": "host", "PYTHONPATH": path}
    command = [sys.executable, "-c", f"import test_pool; print(test_pool.{name}())"]
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_number_of_threads_does_not_change_a_bit() -> None:
    outputs = {in_a_process("all_bits", MIOPY_NUM_THREADS=threads) for threads in ("1", "2", "5")}
    assert len(outputs) == 1


# Of few rows and a step or two, which backward does without packing; steps that are shared.
CROWDED = (
    *((250, (16, 9)), (250, (32,)), (1600, (8,)), (300, (3, 3, 2)), (260, (40,) * 3)),
    (800, (32, 7)),
)


def crowded_bits() -> str:
    """A hash of every result, each with scratch of its own that ends where memory does."""
    device, lines = host.create(), []
    for cell, (hidden_size, batch_sizes) in itertools.product(("tanh", "lstm", "gru"), CROWDED):
        run = CoreRun(device, RNNConfig(cell, 30, hidden_size, 1, "concat"), batch_sizes)
        kept = fenced_scratch(device)
        lines.append(f"{cell} {hidden_size} {hashlib.sha256(run.results()).hexdigest()}")
        assert kept
    return "\n".join(lines)


@pytest.mark.skipif(sys.platform != "linux", reason="preloads a library")
def test_fewer_threads_than_asked_for_compute_the_same_in_their_scratch(tmp_path) -> None:
    library = tmp_path / "few_threads.so"
    flags = ("-std=c99", *FLAGS, "-shared", "-fPIC")
    build("cc", *flags, SOURCES / "few_threads.c", "-o", library, "-ldl", cwd=tmp_path)
    outputs = set()
    for threads, started in (("1", "0"), ("4", "2"), ("16", "14"), ("16", "15")):
        limit = {"LD_PRELOAD": str(library), "FEW_THREADS": started}
        outputs.add(in_a_process("crowded_bits", MIOPY_NUM_THREADS=threads, **limit))
    assert len(outputs) == 1


@pytest.mark.skipif(host.num_threads() < 2, reason="two workers need two processors")
def test_workers_that_are_far_from_each_other_share_less(tmp_path) -> None:
    """And look again later whether they are: hypervisors move them."""
    kernels = ROOT / "miopy/kernels/host"
    sources = SOURCES / "distant_workers.c", kernels / "pool/pool.c"
    build("cc", "-std=c11", *FLAGS, f"-I{kernels}", *sources, "-o", "distant", cwd=tmp_path)
    printed = run_well(tmp_path / "distant", cwd=tmp_path)
    near, far, again = ([int(both) > 0 for both in line.split()] for line in printed.splitlines())
    assert near == [False, True, True]
    assert far == [False, False, True, True]
    assert again == [True, True]
