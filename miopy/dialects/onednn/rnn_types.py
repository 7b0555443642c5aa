"""Which element types go together in an RNN primitive, and what it computes with.

    main            state h, weights, attention   bias         c             peephole   diff tensors
    f32             f32                           f32          f32           f32        f32
    bf16            bf16                          f32, bf16    f32, bf16     f32        f32
    f16             f16                           f32, f16     f32, f16      f32        no backward
    u8, s8          main or f32, weights s8       f32          f32           no         inference

`main` is the type of src_layer, and of dst_layer, which may also be f32 for u8 and s8. 8-bit
weights are for LSTM and GRU, and GRU is for u8 alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import NotSupported
from .memory_descriptors import MemoryDescriptor
from .rnn_tensors import LSTM
from .types import DATA_TYPES, dnnl_alg_kind_t, dnnl_data_type_t, dnnl_prop_kind_t

F32, F16 = dnnl_data_type_t.dnnl_f32, dnnl_data_type_t.dnnl_f16
BF16 = dnnl_data_type_t.dnnl_bf16
U8, S8 = dnnl_data_type_t.dnnl_u8, dnnl_data_type_t.dnnl_s8
GRU = dnnl_alg_kind_t.dnnl_vanilla_gru
Present = Mapping[str, MemoryDescriptor]


def check_types(kind: dnnl_alg_kind_t, prop_kind: int, present: Present) -> None:
    """Raise NotSupported for types that do not go together."""
    main = present["src_layer"].data_type
    is_backward = prop_kind == dnnl_prop_kind_t.dnnl_backward
    if main in (U8, S8):
        if prop_kind != dnnl_prop_kind_t.dnnl_forward_inference:
            raise NotSupported("prop_kind", "must be forward_inference of 8-bit data", prop_kind)
        _check_quantized(kind, main, present)
    elif main not in (F32, BF16, F16) or (is_backward and main == F16):
        types = "f32 or bf16" if is_backward else "f32, bf16, f16, u8 or s8"
        raise NotSupported("src_layer_desc", f"must be of {types}", main.name)
    allowed = _allowed(main)
    for name, descriptor in present.items():
        accepted = (F32,) if name.startswith("diff_") else allowed[name]
        if descriptor.data_type not in accepted:
            names = " or ".join(each.name.removeprefix("dnnl_") for each in accepted)
            rule = f"must be of {names} beside src_layer of {main.name.removeprefix('dnnl_')}"
            raise NotSupported(f"{name}_desc", rule, descriptor.data_type.name)
    for one, other in (("src_iter_c", "dst_iter_c"), ("src_iter", "dst_iter")):
        pair = [present[name].data_type for name in (one, other) if name in present]
        if len(set(pair)) > 1:
            raise NotSupported(
                f"{other}_desc", f"must be of the type of `{one}_desc`", pair[1].name
            )


def _check_quantized(kind: dnnl_alg_kind_t, main: dnnl_data_type_t, present: Present) -> None:
    kinds = (LSTM, GRU) if main == U8 else (LSTM,)
    if kind not in kinds:
        rule = f"must not be of {main.name.removeprefix('dnnl_')} for this cell"
        raise NotSupported("src_layer_desc", rule)
    if "weights_peephole" in present:
        raise NotSupported("weights_peephole_desc", "must be NULL beside 8-bit data")


def _allowed(main: dnnl_data_type_t) -> dict[str, tuple[dnnl_data_type_t, ...]]:
    """The types that every tensor may have."""
    is_quantized = main in (U8, S8)
    states = (main, F32) if is_quantized else (main,)
    weights = (S8,) if is_quantized else (main,)
    finer = (F32,) if is_quantized or main == F32 else (F32, main)
    return {
        "src_layer": (main,),
        "dst_layer": states,
        "src_iter": states,
        "dst_iter": states,
        "attention": (main,),
        "weights_layer": weights,
        "weights_iter": weights,
        "weights_projection": weights,
        "weights_peephole": (F32,),
        "bias": finer,
        "src_iter_c": finer,
        "dst_iter_c": finer,
    }


def core_type(present: Present, *, trains: bool) -> str:
    """What the core computes with: the storage type that all tensors have, else float32.

    Training on bf16 is float32 too: its gradients are, and backward reads forward's workspace.
    """
    types = {descriptor.data_type for descriptor in present.values()}
    (only,) = types if len(types) == 1 else (F32,)
    return "float32" if trains and only == BF16 else DATA_TYPES[only].name
