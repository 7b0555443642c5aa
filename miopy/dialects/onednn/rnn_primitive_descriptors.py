"""From a checked RNN descriptor to a primitive descriptor: layouts, attributes, what runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.config import CONCAT, LEFT_TO_RIGHT, RIGHT_TO_LEFT, SUM, RNNConfig
from ...core.settings import read_flag
from ...errors import NotSupported, OutOfMemory
from .attributes import Attributes, copy_of
from .engine import Engine
from .memory_descriptors import MOST_NBYTES, MemoryDescriptor
from .primitive_descriptors import Argument, PrimitiveDescriptor, bytes_descriptor
from .rnn_descriptors import RnnDescriptor, Settings, rnn_descriptor
from .rnn_execution import RnnExecution
from .rnn_layouts import resolved
from .rnn_quantized import QuantizedExecution, resolved_quantized
from .rnn_tensors import ARGUMENTS, ATTENTIVE, LSTM, MACROS, SOURCES, TARGETS, WEIGHTS
from .rnn_types import S8, U8, core_type
from .types import (
    DNNL_ARG_WORKSPACE,
    dnnl_alg_kind_t,
    dnnl_primitive_kind_t,
    dnnl_query_t,
    dnnl_rnn_direction_t,
)

DIRECTIONS = {
    dnnl_rnn_direction_t.dnnl_unidirectional_left2right: LEFT_TO_RIGHT,
    dnnl_rnn_direction_t.dnnl_unidirectional_right2left: RIGHT_TO_LEFT,
    dnnl_rnn_direction_t.dnnl_bidirectional_concat: CONCAT,
    dnnl_rnn_direction_t.dnnl_bidirectional_sum: SUM,
}
CELLS = {
    dnnl_alg_kind_t.dnnl_vanilla_lstm: "lstm",
    dnnl_alg_kind_t.dnnl_vanilla_gru: "reset_before_gru",
    dnnl_alg_kind_t.dnnl_lbr_gru: "gru",
    dnnl_alg_kind_t.dnnl_vanilla_augru: "augru",
    dnnl_alg_kind_t.dnnl_lbr_augru: "lbr_augru",
}
VANILLA = {
    dnnl_alg_kind_t.dnnl_eltwise_relu: "relu",
    dnnl_alg_kind_t.dnnl_eltwise_tanh: "tanh",
    dnnl_alg_kind_t.dnnl_eltwise_logistic: "logistic",
}
MERGED = (dnnl_alg_kind_t.dnnl_lbr_gru, dnnl_alg_kind_t.dnnl_lbr_augru)


def create(
    cell_kind: dnnl_alg_kind_t, given: Mapping[str, Any], *, backward: bool = False
) -> PrimitiveDescriptor:
    """Check everything and decide what runs. `given` has the arguments of a dnnl function; those of
    tensors end in _desc."""
    options = {name: given[name] for name in ("activation", "alpha", "beta") if name in given}
    settings = Settings(
        cell_kind, given["prop_kind"], given["direction"], flags=given["flags"], **options
    )
    tensors = {
        name.removesuffix("_desc"): value for name, value in given.items() if name.endswith("_desc")
    }
    descriptor = rnn_descriptor(settings, tensors, backward=backward)
    return rnn_primitive_descriptor(given["engine"], descriptor, given["attr"])


def rnn_primitive_descriptor(
    engine: Engine, descriptor: RnnDescriptor, attr: Attributes | None
) -> PrimitiveDescriptor:
    """What is left to check, and to decide. Raises NotSupported for layouts and attributes, and
    OutOfMemory if a workspace or scratchpad would be larger than C can tell."""
    attributes = copy_of(attr)
    _check_channels(descriptor)
    is_quantized = descriptor.tensors["src_layer"].data_type in (U8, S8)
    choose = resolved_quantized if is_quantized else resolved
    tensors = {name: choose(name, each) for name, each in descriptor.tensors.items()}
    execution: QuantizedExecution | RnnExecution
    if is_quantized:
        direction = DIRECTIONS[dnnl_rnn_direction_t(descriptor.settings.direction)]
        execution = QuantizedExecution(descriptor, direction, tensors, attributes)
    elif attributes.quantizes:
        raise NotSupported("attr", "must have no quantization parameters without 8-bit data")
    else:
        execution = RnnExecution(_config(descriptor), descriptor, tensors)
    _check_spaces(execution)
    workspace = bytes_descriptor(execution.workspace_nbytes)
    settings = descriptor.settings
    return PrimitiveDescriptor(
        dnnl_primitive_kind_t.dnnl_rnn,
        engine,
        attributes,
        execution,
        _arguments(descriptor, tensors, workspace),
        {
            dnnl_query_t.dnnl_query_prop_kind: settings.prop_kind,
            dnnl_query_t.dnnl_query_cell_kind: settings.cell_kind,
            dnnl_query_t.dnnl_query_direction: settings.direction,
            dnnl_query_t.dnnl_query_activation_kind: settings.activation,
            dnnl_query_t.dnnl_query_alpha_f32: settings.alpha,
            dnnl_query_t.dnnl_query_beta_f32: settings.beta,
        },
        _lists(tensors),
    )


def _check_channels(descriptor: RnnDescriptor) -> None:
    sizes = descriptor.sizes
    for name, channels in (
        ("src_layer", sizes.slc),
        ("weights_iter", sizes.sic),
        ("weights_layer", sizes.dhc),
        ("dst_layer", sizes.dic),
    ):
        if not channels:
            raise NotSupported(f"{name}_desc", "must have channels", descriptor.tensors[name].dims)


def _check_spaces(execution: QuantizedExecution | RnnExecution) -> None:
    for name, nbytes in (
        ("workspace", execution.workspace_nbytes),
        ("scratchpad", execution.scratchpad_nbytes),
    ):
        if nbytes > MOST_NBYTES:
            raise OutOfMemory(name, f"must be at most {MOST_NBYTES} bytes", nbytes)


def _config(descriptor: RnnDescriptor) -> RNNConfig:
    settings, sizes, tensors = descriptor.settings, descriptor.sizes, descriptor.tensors
    cell, slope = _cell(descriptor)
    biases = "merged" if settings.cell_kind in MERGED else "input"
    return RNNConfig(
        cell,
        sizes.slc,
        sizes.dhc,
        sizes.layers,
        DIRECTIONS[dnnl_rnn_direction_t(settings.direction)],
        bias=biases if "bias" in tensors else "none",
        dtype=core_type(tensors, trains=descriptor.trains),
        projection_size=sizes.dic if "weights_projection" in tensors else 0,
        slope=slope,
        independent=True,
        recurrent_size=sizes.sic if sizes.sic != sizes.dic else 0,
        onednn_attention=settings.cell_kind in ATTENTIVE and is_exactly_onednn(),
    )


def _cell(descriptor: RnnDescriptor) -> tuple[str, float | None]:
    """The core's name of the cell, and the slope of relu below zero if it is not 0."""
    settings = descriptor.settings
    if settings.cell_kind == LSTM and "weights_peephole" in descriptor.tensors:
        return "peephole_lstm", None
    if settings.cell_kind in CELLS:
        return CELLS[settings.cell_kind], None
    name = VANILLA[dnnl_alg_kind_t(settings.activation)]
    return ("leaky_relu", settings.alpha) if name == "relu" and settings.alpha else (name, None)


def is_exactly_onednn() -> bool:
    """MIOPY_ONEDNN_EXACT: whether gradients of AUGRU are those that oneDNN's libraries give."""
    return read_flag("MIOPY_ONEDNN_EXACT")


def _arguments(
    descriptor: RnnDescriptor, tensors: Mapping[str, MemoryDescriptor], workspace: MemoryDescriptor
) -> dict[int, Argument]:
    """All that execution is given, by their numbers."""
    arguments = {
        ARGUMENTS[name]: Argument(name, MACROS[name], each, descriptor.is_output(name))
        for name, each in tensors.items()
    }
    if descriptor.cell_kind in ATTENTIVE and "attention" not in tensors:
        macro = MACROS["attention"]
        arguments[ARGUMENTS["attention"]] = Argument("attention", macro, None, False)
    if workspace.dims:
        is_output = not descriptor.is_backward
        arguments[DNNL_ARG_WORKSPACE] = Argument(
            "workspace", "DNNL_ARG_WORKSPACE", workspace, is_output
        )
    return arguments


def _lists(
    tensors: Mapping[str, MemoryDescriptor],
) -> dict[dnnl_query_t, list[MemoryDescriptor]]:
    """What queries by kind and index answer: sources and targets have fixed places."""
    query, absent = dnnl_query_t, MemoryDescriptor()
    lists = {}
    for prefix, source, weights, target in (
        ("", query.dnnl_query_src_md, query.dnnl_query_weights_md, query.dnnl_query_dst_md),
        (
            "diff_",
            query.dnnl_query_diff_src_md,
            query.dnnl_query_diff_weights_md,
            query.dnnl_query_diff_dst_md,
        ),
    ):
        lists[source] = [tensors.get(prefix + name, absent) for name in SOURCES[:3]]
        lists[target] = [tensors.get(prefix + name, absent) for name in TARGETS]
        found = [prefix + name for name in WEIGHTS if prefix + name in tensors]
        lists[weights] = [tensors[name] for name in found]
    return lists
