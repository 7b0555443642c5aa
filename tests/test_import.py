"""What `import miopy` needs and gives, in a fresh interpreter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import miopy
from miopy import backends, info
from miopy.__main__ import main
from miopy.backends import host
from miopy.errors import DeviceError


def run_python(code: str) -> str:
    """Standard output of a new interpreter that can import no CuPy."""
    block = "import sys\nsys.modules['cupy'] = None\n"
    return subprocess.run(
        [sys.executable, "-c", block + code], check=True, capture_output=True, text=True
    ).stdout


def test_import_needs_neither_cupy_nor_numpy():
    loaded = run_python("import miopy; print(*sys.modules)").split()
    assert not {"numpy", "cffi", "miopy.backends", "miopy.dialects"} & set(loaded)


def test_a_dialect_is_an_attribute_and_works_without_cupy():
    out = run_python("from miopy import miopen; print(miopen.miopenLSTM, miopen.__name__)")
    assert out.split()[1:] == ["miopy.dialects.miopen"]


def test_the_default_backend_works_without_cupy():
    assert run_python("from miopy import backends; print(backends.get().name)").strip() == "host"


def test_a_backend_of_no_known_name_is_refused_with_those_that_are(monkeypatch):
    monkeypatch.setenv("MIOPY_BACKEND", "gpu")
    rule = "cannot be 'gpu': there is no backend of that name; known are auto, host, cuda"
    with pytest.raises(DeviceError, match=f"`MIOPY_BACKEND` {rule}"):
        backends.get()


@pytest.mark.parametrize("extension", ["_host", "_stepped"])
def test_a_stale_build_says_what_to_do(extension):
    """Of an extension that lacks what its headers declare now."""
    stale = f"miopy.backends.{extension}"
    out = run_python(f"""
import types
sys.modules[{stale!r}] = types.SimpleNamespace(lib=types.SimpleNamespace(), ffi=None)
from miopy import errors, onednn
try:
    onednn.dnnl_engine_create(onednn.dnnl_cpu, 0)
except errors.MiopyError as error:
    print(error)
""")
    assert f"{extension} is of other sources: python setup.py build_ext --inplace" in out


def test_an_unknown_dialect_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonesuch"):
        miopy.nonesuch  # noqa: B018


def test_dialects_are_listed():
    assert "miopen" in dir(miopy)


def test_headers_are_found():
    assert (Path(miopy.get_include()) / "miopen" / "miopen.h").is_file()


@pytest.mark.parametrize("arguments", [["fly"], []])
def test_an_unknown_command_exits_2_and_names_the_commands(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "miopy", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "demo" in done.stderr and "selftest" in done.stderr and "info" in done.stderr


@pytest.mark.parametrize(
    "command, does",
    [
        ("demo", "Train a character model "),
        ("selftest", "Compare every mode, direction and type "),
        ("info", "Print versions, settings, backends "),
        ("weights", "Carry the weights of an RNN "),
        ("weights convert", "Write the weights of a file in another format."),
        ("weights describe", "Print and draw where every parameter is."),
    ],
)
def test_help_says_how_a_command_is_used_and_what_it_does(command, does, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([*command.split(), "--help"])
    out = capsys.readouterr().out
    assert stopped.value.code == 0
    assert out.startswith(f"usage: miopy {command} ") and f"\n\n{does}" in out


def test_info_takes_no_arguments(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["info", "all"])
    assert stopped.value.code == 2
    assert "unrecognized arguments: all" in capsys.readouterr().err


def test_the_version_is_printed():
    command = [sys.executable, "-m", "miopy", "--version"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{miopy.__version__}\n")


def test_info_says_why_a_backend_is_missing():
    out = run_python("from miopy import info; info.main([])")
    assert "backend host" in out
    assert "missing: " in next(line for line in out.splitlines() if line.startswith("backend cuda"))


def told(**variables):
    """What info says in an environment with no other settings, by label."""
    others = {key: value for key, value in os.environ.items() if not key.startswith("MIOPY_")}
    done = subprocess.run(
        [sys.executable, "-m", "miopy", "info"],
        check=True,
        capture_output=True,
        text=True,
        env=others | variables,
    )
    return dict(re.split("  +", line, maxsplit=1) for line in done.stdout.splitlines())


def test_info_says_what_the_host_would_use():
    said = told(MIOPY_BACKEND="host", MIOPY_ISA="base", MIOPY_NUM_THREADS="3")
    assert [said[label] for label in FACTS] == ["host", "base", "3"]
    said = told(MIOPY_BACKEND="host")
    assert said["host kernels"] in host.builds() and int(said["host threads"]) > 0


FACTS = {
    "backend in Python": ("MIOPY_BACKEND", "gpu", "`MIOPY_BACKEND` cannot be 'gpu': there is no "),
    "host kernels": ("MIOPY_ISA", "sse9", "`MIOPY_ISA` must be one of "),
    "host threads": ("MIOPY_NUM_THREADS", "0", "`MIOPY_NUM_THREADS` must be a whole number "),
}


@pytest.mark.parametrize("label", FACTS)
def test_info_says_why_a_setting_is_refused(label):
    variable, value, reason = FACTS[label]
    said = told(**{variable: value})
    assert said[variable] == value
    assert said[label].startswith(f"refused: {reason}")


def test_info_marks_settings_that_are_none():
    said = told(MIOPY_NUM_THREDS="4", MIOPY_RNN_ALGO="auto", MIOPEN_LOG_LEVEL="1")
    assert said["MIOPY_NUM_THREDS"] == "4 (unknown: miopy reads no variable of this name)"
    assert (said["MIOPY_RNN_ALGO"], said["MIOPEN_LOG_LEVEL"]) == ("auto", "1")


def test_info_knows_the_settings_of_the_readme():
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    rows = [line for line in readme.splitlines() if line.startswith("| `MIOPY_")]
    assert sorted(re.findall("`(MIOPY_[A-Z0-9_]+)`", " ".join(rows))) == list(info.SETTINGS)


def test_a_failing_command_says_why_in_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "miopy", "selftest"],
        capture_output=True,
        text=True,
        env=os.environ | {"MIOPY_BACKEND": "none"},
    )
    assert done.returncode == 1
    assert done.stderr.startswith("miopy selftest: miopenCreate: `MIOPY_BACKEND` cannot be 'none'")
    assert "Traceback" not in done.stderr
