"""Random calls through the C APIs: no crash, no hang, no leak, no mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("fuzzer", "calls", "never"),
    [("fuzz.py", 100000, []), ("onednn_fuzz.py", 20000, ["dnnl_primitive_desc_next_impl"])],
)
def test_random_calls_are_answered(fuzzer: str, calls: int, never: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", ROOT / "tests" / fuzzer, str(calls), "1"],
        env={"PYTHONPATH": str(ROOT), "MIOPEN_LOG_LEVEL": "1", "MIOPY_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert f"never succeeded: {never}" in done.stdout
