"""A shape in a process of its own.

What shapes before it left behind would differ between sides: arrays as large as NumPy's get huge
pages from the system, but not where they take memory that was given back in small ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from bench_machine import share_threads
from bench_rows import time_shape
from bench_shapes import Shape


def time_apart(
    shape: Shape, modes: Sequence[str], sides: Sequence[str], budget: float, beside: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """`time_shape` of a new process, which ends with the last row, or when no more are asked for.

    Ends the program where that one would, or where it breaks down.
    """
    processes = get_context("spawn")
    rows, sender = processes.Pipe(duplex=False)
    given = sender, shape, modes, sides, budget, beside
    process = processes.Process(target=_send_rows, args=given, daemon=True)
    process.start()
    sender.close()
    try:
        while (row := rows.recv()) is not None:
            if isinstance(row, str):
                raise SystemExit(row)
            yield row
    except EOFError:
        process.join()
        raise SystemExit(f"{shape.name}: its process ended with {process.exitcode}") from None
    finally:
        process.terminate()
        process.join()


def _send_rows(sender: Connection, *given: Any) -> None:
    """Rows, what to end the program with if that happens, and None behind the last."""
    share_threads()
    try:
        for row in time_shape(*given):
            sender.send(row)
        sender.send(None)
    except SystemExit as end:
        sender.send(str(end))
