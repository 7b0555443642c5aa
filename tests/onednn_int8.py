"""oneDNN's inference on 8-bit integers, with reorders that make them, on guarded memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import oracle_quantized as oracle
from onednn_run import ENGINES, Placed, argument_number

from miopy import onednn as dn

TYPES = {"float32": dn.dnnl_f32, "uint8": dn.dnnl_u8, "int8": dn.dnnl_s8}
DIRECTIONS = {
    "left_to_right": dn.dnnl_unidirectional_left2right,
    "right_to_left": dn.dnnl_unidirectional_right2left,
    "concat": dn.dnnl_bidirectional_concat,
    "sum": dn.dnnl_bidirectional_sum,
}
T, N, H = 4, 3, 5


@dataclass(frozen=True)
class Int8Case:
    """codes: the type of data; `numbers` are tensors of f32 instead; `layout` of weights is any,
    ldigo or ldgoi; `gaps` are between the rows of data and states."""

    cell: str = "lstm"
    direction: str = "left_to_right"
    layers: int = 1
    projection: int = 0
    codes: str = "uint8"
    numbers: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    per_output: bool = False
    layout: str = "any"
    gaps: bool = False

    @property
    def data(self) -> oracle.Data:
        return oracle.Data(90.5, 0 if self.codes == "int8" else 100, self.codes == "int8")

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """D, G, S and the features of src_layer."""
        state = self.projection or H
        directions = 2 if self.direction in ("concat", "sum") else 1
        return directions, 4 if self.cell == "lstm" else 3, state, state

    def dims(self) -> dict[str, tuple[int, ...]]:
        directions, gates, state, features = self.sizes
        stack = self.layers, directions
        dims = {
            "src_layer": (T, N, features),
            "src_iter": (*stack, N, state),
            "src_iter_c": (*stack, N, H),
            "weights_layer": (*stack, features, gates, H),
            "weights_iter": (*stack, state, gates, H),
            "weights_projection": (*stack, H, state),
            "bias": (*stack, gates, H),
            "dst_layer": (T, N, state * (2 if self.direction == "concat" else 1)),
            "dst_iter": (*stack, N, state),
            "dst_iter_c": (*stack, N, H),
        }
        missing = set(self.absent)
        if self.cell != "lstm" or "src_iter" in missing:
            missing |= {"src_iter_c"}
        if self.cell != "lstm" or "dst_iter" in missing:
            missing |= {"dst_iter_c"}
        if not self.projection:
            missing |= {"weights_projection"}
        return {name: each for name, each in dims.items() if name not in missing}

    def dtype_of(self, name: str) -> str:
        if name.startswith("weights"):
            return "int8"
        if name == "bias" or name.endswith("_c") or name in self.numbers:
            return "float32"
        return self.codes


class Int8Run:
    """Random f32 tensors of a case; codes of weights are made by reorders."""

    def __init__(self, case: Int8Case, backend: str) -> None:
        self.case, rng = case, np.random.default_rng(3)
        self.engine = dn.dnnl_engine_create(ENGINES[backend], 0)
        self.stream = dn.dnnl_stream_create(self.engine, dn.dnnl_stream_default_flags)
        self.values = {
            name: rng.uniform(-1, 1, dims).astype(np.float32)
            for name, dims in case.dims().items()
            if not name.startswith("dst")
        }
        _, gates, state, _ = case.sizes
        many = case.per_output
        self.scales = rng.uniform(60, 120, gates * H if many else 1).astype(np.float32)
        self.projection_scales = rng.uniform(60, 120, state if many else 1).astype(np.float32)
        self.attr = self.attributes(with_data=True)

    def attributes(self, *, with_data: bool) -> Any:
        attr, data = dn.dnnl_primitive_attr_create(), self.case.data
        if with_data:
            dn.dnnl_primitive_attr_set_rnn_data_qparams(attr, data.scale, data.shift)
        for which, scales, mask in (
            ("weights", self.scales, 24),
            ("weights_projection", self.projection_scales, 8),
        ):
            setter = getattr(dn, f"dnnl_primitive_attr_set_rnn_{which}_qparams")
            setter(attr, len(scales), mask if self.case.per_output else 0, scales)
        return attr

    def described(self, name: str) -> Any:
        dims, dtype = self.case.dims()[name], TYPES[self.case.dtype_of(name)]
        rank, is_weight = len(dims), name.startswith("weights")
        if self.case.gaps and not is_weight and name != "bias":
            strides = [1]
            for length in reversed(dims[1:]):
                strides.insert(0, strides[0] * length + 3)
            return dn.dnnl_memory_desc_create_with_strides(rank, dims, dtype, strides)
        tags = {3: dn.dnnl_tnc, 4: dn.dnnl_ldnc, 5: dn.dnnl_ldigo}
        if is_weight:
            tags = {
                "any": {4: dn.dnnl_format_tag_any, 5: dn.dnnl_format_tag_any},
                "ldigo": {4: dn.dnnl_ldio, 5: dn.dnnl_ldigo},
                "ldgoi": {4: dn.dnnl_ldoi, 5: dn.dnnl_ldgoi},
            }[self.case.layout]
        return dn.dnnl_memory_desc_create_with_tag(rank, dims, dtype, tags[rank])

    def descriptor(self, **changes: Any) -> Any:
        names = ["src_layer", "src_iter", "weights_layer", "weights_iter", "bias"]
        names += ["dst_layer", "dst_iter"]
        if self.case.cell == "lstm":
            names += ["src_iter_c", "weights_peephole", "weights_projection", "dst_iter_c"]
        create = getattr(dn, f"dnnl_{self.case.cell}_forward_primitive_desc_create")
        given = {
            f"{name}_desc": self.described(name) if name in self.case.dims() else None
            for name in names
        }
        given |= {
            "engine": self.engine,
            "prop_kind": dn.dnnl_forward_inference,
            "direction": DIRECTIONS[self.case.direction],
            "flags": 0,
            "attr": self.attr,
        }
        return create(**(given | changes))

    def _execute(self, descriptor: Any, args: dict[int, Any]) -> None:
        primitive = dn.dnnl_primitive_create(descriptor)
        dn.dnnl_primitive_execute(primitive, self.stream, len(args), args)
        dn.dnnl_stream_wait(self.stream)

    def _reordered(self, name: str, wanted: Any) -> Any:
        """Memory of a tensor, made of f32 by a reorder with the attributes."""
        dims = self.case.dims()[name]
        plain = dn.dnnl_memory_desc_create_with_strides(len(dims), dims, dn.dnnl_f32, None)
        made = dn.dnnl_memory_create(wanted, self.engine, dn.DNNL_MEMORY_ALLOCATE)
        attr = self.attributes(with_data=not name.startswith("weights"))
        reorder = dn.dnnl_reorder_primitive_desc_create(
            plain, self.engine, wanted, self.engine, attr
        )
        self._execute(reorder, {dn.DNNL_ARG_FROM: self.values[name], dn.DNNL_ARG_TO: made})
        return made

    def run(self) -> dict[str, np.ndarray]:
        descriptor = self.descriptor()
        args, outputs = {}, {}
        for name in self.case.dims():
            number = argument_number(name)
            wanted = dn.dnnl_primitive_desc_query_md(descriptor, dn.dnnl_query_exec_arg_md, number)
            dtype = self.case.dtype_of(name)
            if name.startswith("dst"):
                outputs[name] = Placed(wanted, dtype)
                args[number] = outputs[name].address
            elif dtype != "float32":
                args[number] = self._reordered(name, wanted)
            else:
                placed = Placed(wanted, dtype)
                placed.load(self.values[name])
                self.values[name] = placed.values
                args[number] = dn.dnnl_memory_create(wanted, self.engine, placed.address)
                outputs[f"input {name}"] = placed  # kept alive
        self._execute(descriptor, args)
        assert all(placed.buffer.is_guarded for placed in outputs.values())
        return {name: outputs[name].values for name in outputs if name.startswith("dst")}

    def expected(self) -> dict[str, np.ndarray]:
        case, data = self.case, self.case.data
        directions, gates, state, _ = case.sizes
        per_gate = np.broadcast_to(self.scales, gates * H).reshape(gates, H)
        weights = {
            "input": oracle.weight_codes(self.values["weights_layer"], per_gate),
            "recurrent": oracle.weight_codes(self.values["weights_iter"], per_gate),
            "bias": self.values.get("bias", np.zeros((case.layers, directions, gates, H))),
            "scales": per_gate,
        }
        if case.projection:
            scales = np.broadcast_to(self.projection_scales, state)
            codes = oracle.weight_codes(self.values["weights_projection"], scales)
            weights |= {"projection": codes, "projection_scales": scales}
        blocks = (case.layers, directions, N)
        h = data.codes(self.values.get("src_iter", np.zeros((*blocks, state))))
        c = self.values.get("src_iter_c", np.zeros((*blocks, H), np.float32))
        x = data.codes(self.values["src_layer"])
        found = oracle.forward(case.cell, case.direction, data, x, h, c, weights)
        y = found["y"]
        if "dst_layer" in case.numbers:
            y = data.numbers(y, 2 if case.direction == "sum" else 1)
        hy = data.numbers(found["hy"]) if "dst_iter" in case.numbers else found["hy"]
        results = {"dst_layer": y, "dst_iter": hy, "dst_iter_c": found["cy"]}
        return {name: results[name] for name in case.dims() if name in results}


def check(case: Int8Case, backend: str) -> None:
    """Codes are equal to those of the reference, numbers close."""
    run = Int8Run(case, backend)
    got, expected = run.run(), run.expected()
    assert got.keys() == expected.keys()
    for name, values in got.items():
        if values.dtype == np.float32:
            np.testing.assert_allclose(values, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            assert np.array_equal(values, expected[name]), name
