"""Problems whose data are 8-bit integers: inference of LSTM, LSTM with a projection, and GRU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from onednn_problems import WEIGHTS, Problem, Tensors

QUANTIZED_CELLS = ("lstm", "lstm projection", "gru")
GATE_MASK, PROJECTION_MASK = 24, 8  # the dimensions that have scales of their own
SCALE, SHIFT = 60.0, 64.0  # the sum of two directions has twice the shift
WEIGHT_SCALE = 250.0  # of weights below a half


@dataclass(frozen=True)
class Quantized(Problem):
    """Integers are round(value * scale + shift), without a shift for weights.

    state_dtype    of src_iter and dst_iter
    output_dtype   of dst_layer
    per_channel    whether every column of weights has a scale
    """

    dtype: str = "uint8"
    packed: bool = True
    state_dtype: str = "uint8"
    output_dtype: str = "uint8"
    per_channel: bool = False

    def dtype_of(self, name: str) -> str:
        if name in WEIGHTS:
            return "int8"
        types = {"src_layer": self.dtype, "dst_layer": self.output_dtype}
        types |= {"src_iter": self.state_dtype, "dst_iter": self.state_dtype}
        return types.get(name, "float32")

    def tensors(self, seed: int = 0) -> Tensors:
        """Numbers for every input: integers where it has them, but float32 weights."""
        rng = np.random.default_rng(seed)
        values = {name: rng.uniform(-1, 1, shape) for name, shape in self.inputs.items()}
        for name in values.keys() & WEIGHTS:
            values[name] /= 2
        for name in values.keys() & {"src_layer", "src_iter"}:
            if self.dtype_of(name) == "uint8":
                values[name] = np.rint(values[name] * SCALE + SHIFT)
        return {
            name: array.astype(np.float32 if name in WEIGHTS else self.dtype_of(name))
            for name, array in values.items()
        }

    def attributes(self, api: Any) -> Any:
        made = api.dnnl_primitive_attr_create()
        api.dnnl_primitive_attr_set_rnn_data_qparams(made, SCALE, SHIFT)
        columns = len(self.cell.gates) * self.dhc
        scales, mask = self.scales(columns, GATE_MASK)
        api.dnnl_primitive_attr_set_rnn_weights_qparams(made, len(scales), mask, scales)
        if self.cell.projection:
            scales, mask = self.scales(self.dic, PROJECTION_MASK)
            api.dnnl_primitive_attr_set_rnn_weights_projection_qparams(
                made, len(scales), mask, scales
            )
        return made

    def scales(self, columns: int, mask: int) -> tuple[list[float], int]:
        """One, or one per column, with which some of the weights saturate."""
        if not self.per_channel:
            return [WEIGHT_SCALE], 0
        return np.linspace(WEIGHT_SCALE / 2, WEIGHT_SCALE * 1.2, columns).tolist(), mask


def problems(name: str, direction: str) -> Iterator[Quantized]:
    """All types of states and outputs, one or several layers and scales."""
    options = product(("uint8", "float32"), ("uint8", "float32"), (False, True))
    for number, (state_dtype, output_dtype, per_channel) in enumerate(options):
        dic = 12 if name == "lstm projection" else 16
        yield Quantized(
            *(name, direction),
            time=1 if number == 0 else 3,
            batch=number + 1,
            slc=dic,
            sic=dic,
            dhc=16,
            dic=dic,
            layers=1 + number % 2,
            src_iter=number != 5,
            dst_iter=number != 6,
            state_dtype=state_dtype,
            output_dtype=output_dtype,
            per_channel=per_channel,
        )
