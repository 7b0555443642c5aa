"""The demo: it trains, repeats itself to the last bit, and continues where it stopped."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from miopy.__main__ import main

# Networks this small gain nothing from a second thread.
ONE_THREAD = os.environ | {"MIOPY_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
SMALL = ("--hidden", "8", "--batch", "3", "--length", "7")


def demo(output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "miopy", "demo", "--output", str(output), *options]
    return subprocess.run(command, capture_output=True, text=True, env=ONE_THREAD)


def checkpoint(output: Path) -> dict[str, np.ndarray]:
    with np.load(output / "char_rnn.npz") as stored:
        return dict(stored)


def assert_same(a: Path, b: Path) -> None:
    """Every parameter, moment, loss and random state of two checkpoints is equal."""
    first, second = checkpoint(a), checkpoint(b)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A short training, uninterrupted, and what it printed."""
    output = tmp_path_factory.mktemp("trained")
    done = demo(output, *SMALL, "--steps", "6")
    assert done.returncode == 0, done.stderr
    return output, done.stdout


def test_it_leaves_a_checkpoint_a_picture_and_a_sample(trained):
    output, printed = trained
    assert {path.name for path in output.iterdir()} == {"char_rnn.npz", "char_rnn.png"}
    assert (output / "char_rnn.png").read_bytes().startswith(b"\x89PNG")
    assert "generated text" in printed and "nats per character" in printed


def test_the_same_seed_gives_the_same_training(trained, tmp_path):
    output, printed = trained
    again = demo(tmp_path, *SMALL, "--steps", "6")
    assert_same(output, tmp_path)
    assert final_loss(again.stdout) == final_loss(printed)


def test_another_seed_gives_another_training(trained, tmp_path):
    other = demo(tmp_path, *SMALL, "--steps", "6", "--seed", "1")
    assert final_loss(other.stdout) != final_loss(trained[1])


def test_a_resumed_training_equals_an_uninterrupted_one(trained, tmp_path):
    output, printed = trained
    assert demo(tmp_path, *SMALL, "--steps", "2").returncode == 0
    resumed = demo(tmp_path, "--resume", "--steps", "6")
    assert_same(output, tmp_path)
    assert final_loss(resumed.stdout) == final_loss(printed)


def final_loss(printed: str) -> str:
    """As printed, with all its digits."""
    return next(line for line in printed.splitlines() if line.startswith("held-out loss"))


@pytest.mark.parametrize("mode", ["gru", "tanh"])
def test_other_modes_train(mode, tmp_path):
    done = demo(tmp_path, *SMALL, "--mode", mode, "--steps", "2")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def refusal(capsys, monkeypatch, tmp_path) -> Callable[..., str]:
    """What the command says before it ends with an error, in this process."""

    def refused(*options: str) -> str:
        monkeypatch.setattr(sys, "path", [*sys.path])
        with pytest.raises(SystemExit) as end:
            sys.exit(main(["demo", "--output", str(tmp_path), *options]))
        printed = capsys.readouterr().err
        said = end.value.code  # a status, or what Python prints for one
        assert said
        return printed if isinstance(said, int) else str(said)

    return refused


@pytest.mark.parametrize(
    "options, told",
    [
        (("--hidden", "0"), "--hidden: must be a whole number above 0, got '0'"),
        (("--dropout", "1"), "--dropout: must be a number from 0 to below 1, got '1'"),
        (("--mode", "elman"), "invalid choice: 'elman'"),
        (("--length", "10000000"), "--length exceeds half the text"),
        (("--resume",), "No such file"),
    ],
)
def test_a_bad_option_is_named(options, told, refusal):
    assert told in refusal(*options)


@pytest.mark.parametrize("content", [b"", b"junk", b"PK\x03\x04junk"])
def test_a_file_that_is_no_checkpoint_is_named(tmp_path, content, refusal):
    (tmp_path / "char_rnn.npz").write_bytes(content)
    assert "char_rnn.npz is not a checkpoint" in refusal("--resume")


def test_options_that_contradict_the_checkpoint_are_refused(trained):
    done = demo(trained[0], "--resume", "--hidden", "16")
    assert done.returncode != 0
    assert "the checkpoint has --hidden 8, got 16" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_saves_a_checkpoint_that_resumes(tmp_path):
    command = [sys.executable, "-m", "miopy", "demo", "--output", str(tmp_path), *SMALL]
    process = subprocess.Popen(
        [*command, "--steps", "1000000"], stdout=subprocess.PIPE, text=True, env=ONE_THREAD
    )
    # The first checkpoint shows that training is under way.
    while not (tmp_path / "char_rnn.npz").exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    printed, _ = process.communicate()
    assert process.returncode == 130
    assert "--resume continues" in printed
    step = int(str(checkpoint(tmp_path)["facts"]).split('"step": ')[1].split(",")[0])
    resumed = demo(tmp_path, "--resume", "--steps", str(step + 1))
    assert f"after step {step + 1}:" in resumed.stdout


def test_nothing_long_is_trained_and_held_out(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).resolve().parent.parent / "examples")
    corpus = importlib.import_module("char_model").load_corpus()
    training, held_out = (
        text.astype(np.uint8).tobytes() for text in (corpus.training, corpus.held_out)
    )
    starts = range(0, len(held_out) - 200, 100)
    seen = sum(held_out[at : at + 200] in training for at in starts)
    assert seen < 0.01 * len(starts)  # text around examples may still repeat itself
