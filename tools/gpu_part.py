"""One part of gpu_check in a process of its own: a line of JSON per row.

    python tools/gpu_part.py NAME cuda|emulated SECONDS [DONE]

DONE is a file of JSON with names of rows that are not to be run again, where a part has such.

A process of its own because a fault on a device ends all that its process could do there. The
first row holds the `total` of the rows to come; each other one a `name` and whether it `passed`, or
why it was `skipped`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import gpu_accuracy
import gpu_bench
import gpu_compile
import gpu_facts
import gpu_micro
import gpu_properties
import gpu_tests
import gpu_waits

Rows = Iterator[dict[str, Any]]
PARTS: dict[str, Callable[..., Rows]] = {
    "environment": gpu_facts.environment,
    "kernels": gpu_compile.compile_all,
    "limits": gpu_micro.micro,
    "float64": gpu_accuracy.accuracy,
    "waits in vain": gpu_waits.waits,
    "numeric tests": gpu_tests.numeric,
    "repeatability": gpu_properties.repeatability,
    "sizes": gpu_properties.sizes,
    "memory checker": gpu_facts.memcheck,
    "short": gpu_facts.short,
    "benchmark": gpu_bench.benchmark,
    "benchmark with TF32": gpu_bench.benchmark_tf32,
}
CONTINUED = ("benchmark", "benchmark with TF32")


def main(name: str, device: str, seconds: str, earlier: str = "") -> None:
    end, options = time.monotonic() + float(seconds), {}
    if name in CONTINUED and earlier:
        options["done"] = frozenset(json.loads(Path(earlier).read_text()))
    for row in PARTS[name](device, float(seconds), **options):
        print(json.dumps(row), flush=True)
        if time.monotonic() > end:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
