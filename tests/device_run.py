"""A case whose buffers lie in CuPy's memory while a pass runs, guard zones and all."""

from __future__ import annotations

from typing import Any

from harness import Buffer, Run


class DeviceRun(Run):
    """`harness.Run` on a device. What is written outside a buffer there is found here.

    Dropout is left to tests whose arrays both sides can reach: its states are not copied.
    """

    def allocate(self) -> dict[str, Buffer]:
        self.on_device: dict[str, Any] = {}
        return super().allocate()

    def upload(self) -> None:
        """Copy every buffer to the device; waits for it."""
        import cupy

        for name, buffer in self.buffers.items():
            self.on_device[name] = cupy.asarray(buffer.memory)
        cupy.cuda.runtime.deviceSynchronize()

    def download(self) -> None:
        """Copy every buffer back; waits for the device."""
        import cupy

        cupy.cuda.runtime.deviceSynchronize()
        for name, memory in self.on_device.items():
            self.buffers[name].memory[:] = cupy.asnumpy(memory)

    def __getitem__(self, name: str) -> Any:
        if name not in self.buffers:
            return None
        buffer, memory = self.buffers[name], self.on_device[name]
        inside = memory[buffer.start : buffer.start + buffer.bytes.nbytes]
        return inside.view(buffer.array.dtype).reshape(buffer.array.shape)

    def _space(self, name: str) -> tuple[Any, int]:
        return self[name], self.buffers[name].array.nbytes

    def execute(self, name: str) -> None:
        self.upload()
        super().execute(name)
        self.download()
