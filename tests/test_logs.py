"""What the three variables for logs make a program print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Flags of MIOpenDriver's operations, by MIOpen's own help.
RNN_FLAGS = set("F l k r n H W i V w o d e b m p a c f U P L M".split())
FLAGS = {
    "rnn": RNN_FLAGS | {"q", "C"},
    "rnn_seq": RNN_FLAGS | {"I", "K"},
    "dropout": set("F d p l m e f i V t w o".split()),
}

CALLS = """
import ctypes
from c_library import create, load, rnn, tensor
from fuzz import good_calls
library = load()
buffers = [ctypes.create_string_buffer(1 << 20) for _ in range(12)]
for name, values in good_calls(library, [ctypes.addressof(buffer) for buffer in buffers]):
    assert getattr(library, name)(*values) == 0, name
"""
FAIL = """
from c_library import load
assert load().miopenDestroy(5) == 3
"""
TEXT = "miopenDestroy: `handle` must be a miopenHandle_t, got 0x5"


def run(code: str, **variables: str) -> tuple[list[str], list[str]]:
    """The lines on standard output and standard error."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.splitlines()


@pytest.mark.parametrize("level", [None, "0", "2", "3", "5", "loud"])
def test_an_error_is_one_line(level: str | None) -> None:
    variables = {"MIOPEN_LOG_LEVEL": level} if level else {}
    assert run(FAIL, **variables) == ([], [f"MIOpen Error: {TEXT}"])


def test_level_1_is_quiet() -> None:
    assert run(FAIL, MIOPEN_LOG_LEVEL="1") == ([], [])


@pytest.mark.parametrize("level", ["6", "7"])
def test_level_6_and_above_add_the_traceback(level: str) -> None:
    _, lines = run(FAIL, MIOPEN_LOG_LEVEL=level)
    assert lines[:2] == [f"MIOpen Error: {TEXT}", "Traceback (most recent call last):"]
    assert lines[-1] == f"miopy.errors.BadParam: {TEXT}"


@pytest.mark.parametrize("value", [None, "", "0", "off", "FALSE"])
def test_nothing_is_logged_unless_asked_for(value: str | None) -> None:
    names = ("MIOPEN_ENABLE_LOGGING", "MIOPEN_ENABLE_LOGGING_CMD")
    variables = dict.fromkeys(names, value) if value is not None else {}
    assert run(CALLS, **variables) == ([], [])


def test_calls_are_logged_with_their_arguments() -> None:
    code = """
from c_library import create, load
library = load()
library.miopenSetTensorDescriptor(create(library, "TensorDescriptor"), 1, -2, 64, None)
library.miopenEnableProfiling(None, True)
"""
    output, lines = run(code, MIOPEN_ENABLE_LOGGING="1", MIOPEN_LOG_LEVEL="1")
    assert output == []
    assert lines[0] == (
        "MIOpen(HIP): miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t *){"
    )
    assert lines[1].startswith("tensorDesc = 0x") and lines[2] == "}"
    assert lines[3] == (
        "MIOpen(HIP): miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t, "
        "miopenDataType_t, int, const int *, const int *){"
    )
    assert lines[5:10] == [
        "dataType = miopenFloat",
        "nbDims = -2",
        "dimsA = 0x40",
        "stridesA = 0x0",
        "}",
    ]
    assert lines[-3:] == ["handle = 0x0", "enable = true", "}"]


def test_passes_are_logged_as_commands_that_the_driver_accepts() -> None:
    output, lines = run(CALLS, MIOPEN_ENABLE_LOGGING_CMD="1")
    assert len(output) == 9
    for command, line in zip(output, lines, strict=True):
        program, operation, *flags = command.split()
        assert program == "./bin/MIOpenDriver"
        assert {flag[1:] for flag in flags[::2]} <= FLAGS[operation]
        kind = "LogCmdDropout" if operation == "dropout" else "LogCmdRNN"
        assert line == f"MIOpen(HIP): Command [{kind}] {command}"
    network = "-W 3 -H 4 -l 1 -b 1 -m lstm -p 0 -r 0 -a 0"
    assert output[0].endswith(f"rnn -n 2,2,2 {network} -q 0 -k 3 -c 0 -F 1 -w 1")
    assert output[1].endswith("-c 1 -F 1 -w 1")
    assert output[2].endswith("-c 0 -F 2 -w 1")
    assert output[3].endswith("-c 0 -F 4 -w 1")
    assert output[4].endswith(f"rnn_seq -n 2 {network} -k 3 -K 2,3 -I 3 -c 0 -F 1 -w 1")
    assert output[5].endswith("-F 3 -w 1") and output[6].endswith("-F 7 -w 1")
    assert output[7].endswith("dropout -d 2,3 -p 0.5 -l 7 -m 0 -e 0 -F 1")
    assert output[8].endswith("-F 2")


def test_a_command_names_half_precision_and_dropout() -> None:
    from miopy import miopen
    from miopy.dialects.miopen.driver import COMMANDS

    network, x = miopen.miopenCreateRNNDescriptor(), miopen.miopenCreateTensorDescriptor()
    dropout = miopen.miopenCreateDropoutDescriptor()
    dropout.dropout, dropout.seed = 0.25, (5 << 32) + 6
    arguments = (network, 8, 2, dropout, 1, 1, miopen.miopenGRU, 0, 1, miopen.miopenHalf)
    miopen.miopenSetRNNDescriptor_V2(*arguments)
    miopen.miopenSetTensorDescriptor(x, miopen.miopenHalf, 2, [2, 8], None)
    _, command = COMMANDS["miopenRNNForwardTraining"]
    assert command({"rnnDesc": network, "sequenceLen": 2, "xDesc": [x, x, None]}) == (
        "rnnfp16 -n 2,2 -W 8 -H 8 -l 2 -b 0 -m gru -p 1 -r 1 -a 1 -U 1 -P 0.25 -L 6 -M 5"
        " -q 0 -k 2 -c 0 -F 1 -w 1"
    )
