"""Start, fork, interrupt and end of programs that use libMIOpen, in C and in Python."""

from __future__ import annotations

import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from c_library import LIBRARY
from clients import FLAGS, SDK, SOURCES, STANDARDS, build, compile_client, run, run_well

ROOT = Path(__file__).resolve().parent.parent


def python(code: str, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run code in a Python of its own; the tests' modules can be imported."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=folder,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_eight_threads_may_make_the_first_call(tmp_path: Path) -> None:
    run_well(compile_client("first_call.c", tmp_path), cwd=tmp_path)


def test_python_may_start_while_another_thread_looks_for_it(tmp_path: Path) -> None:
    run_well(compile_client("late_thread.c", tmp_path), cwd=tmp_path)


def test_children_call_while_threads_of_the_parent_are_busy(tmp_path: Path) -> None:
    run_well(compile_client("forks.c", tmp_path), cwd=tmp_path)


def test_the_library_may_be_closed_and_opened_again(tmp_path: Path) -> None:
    program = compile_client("reopen.c", tmp_path)
    run_well(program, LIBRARY, cwd=tmp_path)
    run_well(program, LIBRARY.with_suffix(""), cwd=tmp_path)
    run_well(program, cwd=tmp_path, LD_LIBRARY_PATH=str(SDK / "lib"))


@pytest.mark.parametrize("arguments, code", [((), 0), (("exit",), 3)], ids=["return", "exit"])
def test_calls_are_answered_until_a_c_program_has_ended(
    tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    done = run(compile_client("exits.cpp", tmp_path), *arguments, cwd=tmp_path)
    assert done.stdout.split("\n") == ["main", "late: 0", "handler: 0", "early: 0", ""]
    assert (done.returncode, done.stderr) == (code, "")


def test_after_the_end_of_python_objects_can_only_be_destroyed(tmp_path: Path) -> None:
    library = tmp_path / "liboutlives.so"
    build(
        *(*STANDARDS[".cpp"], *FLAGS, "-shared", "-fPIC", f"-I{SDK / 'include'}"),
        *(SOURCES / "outlives_python.cpp", "-o", library),
        *(f"-L{SDK / 'lib'}", "-lMIOpen", f"-Wl,-rpath,{SDK / 'lib'}"),
        cwd=tmp_path,
    )
    code = """
import atexit, ctypes, sys
from c_library import create, load
atexit.register(lambda: print("early:", library.miopenDestroy(None), flush=True))
library = load()
create(library)
atexit.register(lambda: print("late:", library.miopenDestroy(None), flush=True))
assert ctypes.CDLL(sys.argv[1]).create() == 0
"""
    done = python(code, tmp_path, library)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n") == ["late: 0", "early: 0", "destroyed: 0, created: 1", ""]


def test_calling_threads_do_not_keep_python_from_ending(tmp_path: Path) -> None:
    code = """
import threading
from c_library import create, load, tensor
library = load()
create(library)
def call():
    while True:
        library.miopenDestroyTensorDescriptor(tensor(library, 2))
for _ in range(3):
    threading.Thread(target=call, daemon=True).start()
"""
    for _ in range(5):
        done = python(code, tmp_path)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_threads_with_and_without_pythons_lock_may_make_the_first_call(tmp_path: Path) -> None:
    code = """
import ctypes, sys, threading
path = sys.argv[1]
libraries = [ctypes.CDLL(path), ctypes.PyDLL(path)] * 4
statuses = []
def call(library):
    statuses.append(library.miopenDestroy(None))
threads = [threading.Thread(target=call, args=[library]) for library in libraries]
for thread in threads:
    thread.start()
call(libraries[1])
for thread in threads:
    thread.join()
assert statuses == [0] * 9, statuses
"""
    done = python(code, tmp_path, LIBRARY)
    assert (done.returncode, done.stderr) == (0, "")


def test_attributes_of_capsules_do_not_stop_the_first_call(tmp_path: Path) -> None:
    code = """
import datetime
for _ in range(100):
    getattr(datetime.datetime_CAPI, "attribute", None)
from c_library import create, load
create(load())
"""
    done = python(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_fork_of_python_can_call(tmp_path: Path) -> None:
    code = """
import os
from c_library import create, load
library = load()
create(library)
child = os.fork()
if not child:
    create(library)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    done = python(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_that_has_a_python_shares_it(tmp_path: Path) -> None:
    folder, name = (sysconfig.get_config_var(each) for each in ("LIBDIR", "INSTSONAME"))
    run_well(
        compile_client("hosts_python.c", tmp_path),
        *(Path(folder) / name, LIBRARY),
        cwd=tmp_path,
        PYTHONPATH=":".join(filter(None, sys.path)),
        PYTHONHOME=sys.base_prefix,
    )


def test_an_interrupt_ends_a_c_program(tmp_path: Path) -> None:
    program = compile_client("busy.c", tmp_path)
    busy = subprocess.Popen(
        [program], stdout=subprocess.PIPE, env={}, preexec_fn=restore_interrupts, text=True
    )
    assert busy.stdout is not None
    assert busy.stdout.readline() == "calling\n"
    time.sleep(0.2)
    busy.send_signal(signal.SIGINT)
    assert busy.wait(timeout=20) == -signal.SIGINT


def restore_interrupts() -> None:
    """Shells let background jobs ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_inside_a_call_reaches_a_python_program(tmp_path: Path) -> None:
    # The allocator of the handle is the C library's raise(), and its context the signal, so the
    # interrupt comes while Python is inside the call.
    code = """
import ctypes, signal, time
from c_library import create, load, UNKNOWN_ERROR
from miopy.objects import OBJECTS
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
library = load()
handle = create(library)
send = ctypes.cast(ctypes.CDLL(None)["raise"], ctypes.c_void_p)
assert library.miopenSetAllocator(handle, send, send, int(signal.SIGINT)) == 0
backend = OBJECTS.find(handle).backend
backend.set_allocator = lambda *ignored: backend._scratch.address(1)
status = None
try:
    status = library.miopenSetAllocator(handle, None, None, None)
    time.sleep(10)
    print("slept")
except KeyboardInterrupt:
    assert status in (None, UNKNOWN_ERROR), status
    print("interrupted")
"""
    done = python(code, tmp_path)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
