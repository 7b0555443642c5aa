"""Variables of the environment that are yes or no."""

from __future__ import annotations

import os

from ..errors import BadParam


def read_flag(variable: str, default: bool = False) -> bool:
    """What a variable says, 0 or 1; the default if it is unset or empty. Raises BadParam."""
    said = os.environ.get(variable) or str(int(default))
    if said not in ("0", "1"):
        raise BadParam(variable, "must be 0 or 1", said)
    return said == "1"
