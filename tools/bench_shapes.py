"""What the benchmarks time: shapes of RNNs, the passes over them, and the work these are."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

INFERENCE, FORWARD, STEP = MODES = ("inference", "training forward", "training step")
NBYTES = {"float32": 4, "bfloat16": 2}  # of a number of each type
GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


@dataclass(frozen=True)
class Shape:
    cell: str
    hidden_size: int
    batch: int
    seq_len: int
    input_size: int = 0  # 0: hidden_size
    num_layers: int = 1
    num_directions: int = 1
    inference_only: bool = False
    dtype: str = "float32"

    @property
    def features(self) -> int:
        return self.input_size or self.hidden_size

    @property
    def name(self) -> str:
        text = f"{self.cell} H{self.hidden_size} B{self.batch} T{self.seq_len}"
        if self.input_size:
            text += f" I{self.input_size}"
        if self.num_layers > 1:
            text += f" L{self.num_layers}"
        return text + (" bi" if self.num_directions == 2 else "")

    @property
    def modes(self) -> tuple[str, ...]:
        return MODES[:1] if self.inference_only else MODES

    @property
    def outputs(self) -> int:
        return self.num_directions * self.hidden_size

    @property
    def states(self) -> tuple[int, int, int]:
        return self.num_layers * self.num_directions, self.batch, self.hidden_size

    def flops(self, mode: str) -> float:
        """Multiply-adds of the products, two operations each."""
        features = self.features + self.hidden_size
        upper = self.num_directions * self.hidden_size + self.hidden_size
        per_row = GATES[self.cell] * self.hidden_size * self.num_directions
        forward = 2.0 * per_row * (features + (self.num_layers - 1) * upper)
        rows = self.batch * self.seq_len
        return forward * rows * (3 if mode == STEP else 1)

    @property
    def recurrent_nbytes(self) -> int:
        """Bytes of the recurrent weights of a layer in one direction."""
        return NBYTES[self.dtype] * GATES[self.cell] * self.hidden_size**2

    def recurrences(self, mode: str) -> int:
        """How often those weights are read: at every step of every layer and direction."""
        return self.seq_len * self.states[0] * (2 if mode == STEP else 1)


_SIZE = r"([1-9]\d*)"
_CELL = f"({'|'.join(GATES)})"
_NAME = re.compile(f"{_CELL} H{_SIZE} B{_SIZE} T{_SIZE}(?: I{_SIZE})?(?: L{_SIZE})?( bi)?")


def named(name: str) -> Shape:
    """The shape of a name; ValueError if it is none."""
    found = _NAME.fullmatch(name)
    if not found:
        raise ValueError(f"{name!r} is no shape, as 'gru H512 B16 T25 I161 L2 bi' is")
    cell, *sizes, both = found.groups()
    hidden_size, batch, seq_len, input_size, num_layers = (int(size or 0) for size in sizes)
    if input_size == hidden_size:  # which names leave out
        input_size = 0
    return Shape(
        cell, hidden_size, batch, seq_len, input_size, max(num_layers, 1), 2 if both else 1
    )


TINY = Shape("lstm", 8, 1, 1, inference_only=True)  # a call that is nearly all overhead
SHAPES = (
    Shape("lstm", 512, 16, 25),
    Shape("lstm", 512, 64, 25),
    Shape("lstm", 1024, 64, 25),
    Shape("lstm", 2048, 32, 25),
    Shape("lstm", 256, 16, 150),
    Shape("lstm", 1536, 8, 50),
    Shape("lstm", 32, 8, 200),
    Shape("lstm", 64, 8, 100),
    Shape("lstm", 128, 128, 50),
    Shape("lstm", 320, 32, 100, input_size=161, num_layers=2, num_directions=2),
    Shape("lstm", 128, 256, 128, num_layers=4),
    Shape("gru", 1536, 32, 187),
    Shape("gru", 2816, 32, 50),
    Shape("gru", 1024, 32, 150),
    Shape("tanh", 1760, 16, 50),
    Shape("relu", 1760, 16, 50),
    Shape("tanh", 2560, 64, 50),
    Shape("relu", 2560, 64, 50),
    Shape("lstm", 512, 1, 25, inference_only=True),
    Shape("lstm", 1024, 1, 25, inference_only=True),
    Shape("lstm", 256, 1, 150, inference_only=True),
    Shape("lstm", 1536, 4, 50, inference_only=True),
    Shape("gru", 2816, 1, 100, inference_only=True),
    Shape("gru", 1024, 2, 200, inference_only=True),
    TINY,
)
# A minute's worth: each regime once, none of them large.
QUICK = (
    Shape("lstm", 512, 16, 25),
    Shape("lstm", 256, 16, 150),
    Shape("lstm", 64, 8, 100),
    Shape("lstm", 128, 128, 50),
    Shape("gru", 512, 16, 50),
    Shape("tanh", 1024, 16, 25),
    Shape("lstm", 512, 1, 25, inference_only=True),
    TINY,
)

# One size at a time is changed of this network, whose time is the same point of every curve.
MIDDLE = Shape("lstm", 256, 16, 64)
SWEEPS = {
    "seq_len": (1, 4, 16, 64, 256),
    "batch": (1, 4, 16, 64, 256),
    "hidden_size": (16, 64, 256, 512, 1024),
    "num_layers": (1, 2, 4, 8),
}
SCALING = tuple(
    dict.fromkeys(
        replace(MIDDLE, **{field: size}) for field, sizes in SWEEPS.items() for size in sizes
    )
)
SCALING_MODES = (INFERENCE, STEP)
