"""The programs in examples run, learn, and do the same in every vocabulary."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
VOCABULARIES = ("miopen", "cudnn7", "cudnn8", "tensorflow")
FEW_STEPS, ALL_STEPS = "60", "240"
# Networks this small gain nothing from a second thread.
ONE_THREAD = os.environ | {"MIOPY_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def add(vocabulary: str, steps: str) -> list[str]:
    """The losses that an adding program prints."""
    command = [sys.executable, str(EXAMPLES / f"adding_{vocabulary}.py"), steps]
    done = subprocess.run(command, capture_output=True, text=True, env=ONE_THREAD)
    assert (done.returncode, done.stderr) == (0, "")
    return re.findall(r"loss (\S+)", done.stdout)


@pytest.fixture(scope="module")
def losses() -> dict[str, list[str]]:
    return {vocabulary: add(vocabulary, FEW_STEPS) for vocabulary in VOCABULARIES}


def test_cudnns_versions_and_tensorflow_train_alike(losses):
    assert len(losses["cudnn8"]) == 3
    assert losses["cudnn7"] == losses["cudnn8"] == losses["tensorflow"]


def test_miopen_trains_alike_but_for_rounding(losses):
    ours, theirs = ([float(loss) for loss in losses[name]] for name in ("miopen", "cudnn8"))
    assert ours == pytest.approx(theirs, rel=1e-4)


def test_the_adding_problem_is_learnt():
    found = [float(loss) for loss in add("cudnn8", ALL_STEPS)]
    guess = 1 / 6
    assert found[0] > guess / 2 and found[-1] < guess / 20


def test_the_page_names_every_file():
    named = re.findall(r"\]\((\w+\.py)\)", (EXAMPLES / "README.md").read_text())
    assert sorted(named) == sorted(path.name for path in EXAMPLES.glob("*.py"))
