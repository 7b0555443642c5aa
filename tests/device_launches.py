"""An emulated device that notes its launches."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any

from hostcuda.calls import LAUNCH, LAUNCH_CONFIGURED, LAUNCH_TOGETHER
from hostcuda.device import EmulatedDevice

from miopy.backends.cuda_source import Source


class Watched(EmulatedDevice):
    """Notes what is launched, or captured: the kernel's name, and the grid."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.launches: list[tuple[str, int, int]] = []
        self._names: dict[int, str] = {}
        # They live as long as their addresses are called.
        self._noting = {
            "launch": self._note(LAUNCH, "launch"),
            "launch_together": self._note(LAUNCH_TOGETHER, "launch_together"),
            "launch_configured": self._note_configured(),
        }
        addresses = {
            name: ctypes.cast(call, ctypes.c_void_p).value for name, call in self._noting.items()
        }
        self.calls = dataclasses.replace(self.calls, **addresses)

    def _note(self, kind: Any, name: str) -> Any:
        forward = kind(getattr(self.calls, name))

        def launch(function: int, x: int, y: int, *others: Any) -> int:
            self.launches.append((self._names[function], x, y))
            return forward(function, x, y, *others)

        return kind(launch)

    def _note_configured(self) -> Any:
        forward = LAUNCH_CONFIGURED(self.calls.launch_configured)

        def launch(config: Any, function: int, *others: Any) -> int:
            x, y, _ = config.contents.grid
            self.launches.append((self._names[function], x, y))
            return forward(config, function, *others)

        return LAUNCH_CONFIGURED(launch)

    def load(self, source: Source) -> dict[str, int]:
        functions = super().load(source)
        self._names |= {function: name for name, function in functions.items()}
        return functions
