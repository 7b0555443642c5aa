"""One C program, compiled against miopy's header: on either library it computes the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onednn_library
import pytest
import tolerance
from clients import compile_client, run_well

pytestmark = pytest.mark.peers

SUMMANDS = 400  # of a weight's gradient, and of twenty updates by it


def results(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Name and numbers of everything that the program wrote."""
    rest = path.read_bytes()
    while rest:
        head, _, rest = rest.partition(b"\n")
        name, nbytes = head.decode().split()
        yield name, np.frombuffer(rest[: int(nbytes)], np.float32)
        rest = rest[int(nbytes) :]


def test_a_program_in_c_runs_on_either_library(tmp_path: Path):
    program = compile_client("train_onednn.c", tmp_path, dialects=("onednn",))
    real = str(Path(onednn_library.path()).resolve().parent)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    run_well(program, ours, cwd=tmp_path)
    run_well(program, theirs, cwd=tmp_path, LD_LIBRARY_PATH=real)
    assert ours.read_bytes() != theirs.read_bytes()  # so they were not the same library
    for (name, got), (other, expected) in zip(results(ours), results(theirs), strict=True):
        assert name == other
        tolerance.assert_close(name, got, expected.astype(np.float64), "float32", SUMMANDS)
