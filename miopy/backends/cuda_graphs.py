"""What is put on a stream more than once, replayed as a graph."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from ..errors import DeviceError, OutOfMemory
from .cuda_stream import Stream, check

MOST_GRAPHS = 64
SPOILT = "spoilt"  # instead of a graph


class Graphs:
    """Those of one stream, of what was put on it last."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        # By keys that have come before: None, the graph, or SPOILT; and what must live as long.
        self._known: OrderedDict[Hashable, tuple[Any, Any]] = OrderedDict()

    def put(self, key: Hashable, put: Callable[[Any], int], kept: Any) -> None:
        """Put something on the stream, as a graph from the second time on that the key comes.

        key    all that it depends on: kernels, addresses, sizes
        put    puts it on that of `device_calls` and returns an error or 0
        kept   owns what addresses in the key are of: they must not become another's
        """
        key = key, self._stream.workspace  # products in a graph use what they were captured with
        graph, _ = self._known.get(key, (None, None))
        if graph is None and key in self._known:
            graph = self._capture(put)
        if graph in (None, SPOILT):
            check(put(self._stream.product_calls))
        else:
            graph.launch(self._stream.address)
        self._known[key] = graph, kept
        self._known.move_to_end(key)
        if len(self._known) > MOST_GRAPHS:
            self._known.popitem(last=False)

    def _capture(self, put: Callable[[Any], int]) -> Any:
        """Others may spoil a capture, as by waiting for the whole device: then there is no graph,
        and whatever is really wrong shows without one, too."""
        try:
            return self._stream.capture(put)
        except (DeviceError, OutOfMemory):
            return SPOILT

    def clear(self) -> None:
        self._known.clear()
