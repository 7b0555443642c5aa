"""The release of version 2 whose functions these are."""

from __future__ import annotations

from ..entry import entry
from ..version import dnnl_version_t


@entry
def dnnl_version() -> dnnl_version_t:
    """The last one, whose AUGRU is here that of version 3."""
    return dnnl_version_t(2, 6, 0)
