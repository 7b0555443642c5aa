"""What the C calls of this dialect do beside the work: statuses, NULL outputs and logs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from .entry import STATUS as STATUS

OPTIONAL_OUTPUTS = frozenset(
    {
        "miopenGetTensorDescriptor",
        "miopenGetRNNDescriptor",
        "miopenGetRNNDescriptor_V2",
        "miopenGetRNNTempSpaceSizes",
        "miopenGetRNNLayerParamOffset",
        "miopenGetRNNLayerBiasOffset",
    }
)


def log_error(message: str, error: BaseException) -> None:
    level = os.environ.get("MIOPEN_LOG_LEVEL", "0")
    if level == "1" or sys.stderr is None:
        return
    print(f"MIOpen Error: {message}", file=sys.stderr, flush=True)


def logged(
    name: str, parameters: Sequence[tuple[str, str]], call: Callable[..., int]
) -> Callable[..., int]:
    return call
