"""oneDNN's RNN primitives in the words of version 2.

A desc_init function checks an RNN and returns what version 2 calls an operation descriptor, without
an engine; dnnl_primitive_desc_create makes a primitive descriptor of it. From there on all is as in
version 3, with whose objects these functions work: memory descriptors come from
dnnl_memory_desc_init_by_tag and _by_strides, and nothing destroys them. Directions, activations,
format tags and primitive kinds have the values of version 2; enumerators of version 3 are refused.

Other values of prop_kind than those of RNNs pass desc_init, and dnnl_primitive_desc_create raises
NotSupported for them, as it does for layouts. Flags are not used: gradients are added up.
"""

from __future__ import annotations

from .. import types as _types_of_both
from ..attributes import (
    dnnl_primitive_attr_clone,
    dnnl_primitive_attr_create,
    dnnl_primitive_attr_destroy,
    dnnl_primitive_attr_get_fpmath_mode,
    dnnl_primitive_attr_get_rnn_data_qparams,
    dnnl_primitive_attr_get_rnn_weights_projection_qparams,
    dnnl_primitive_attr_get_rnn_weights_qparams,
    dnnl_primitive_attr_get_scratchpad_mode,
    dnnl_primitive_attr_set_fpmath_mode,
    dnnl_primitive_attr_set_rnn_data_qparams,
    dnnl_primitive_attr_set_rnn_weights_projection_qparams,
    dnnl_primitive_attr_set_rnn_weights_qparams,
    dnnl_primitive_attr_set_scratchpad_mode,
)
from ..engine import (
    dnnl_engine_create,
    dnnl_engine_destroy,
    dnnl_engine_get_count,
    dnnl_engine_get_kind,
    dnnl_stream_create,
    dnnl_stream_destroy,
    dnnl_stream_get_engine,
    dnnl_stream_wait,
)
from ..memory import (
    dnnl_memory_create,
    dnnl_memory_destroy,
    dnnl_memory_get_data_handle,
    dnnl_memory_get_engine,
    dnnl_memory_get_memory_desc,
    dnnl_memory_map_data,
    dnnl_memory_set_data_handle,
    dnnl_memory_unmap_data,
)
from ..memory_descriptors import dnnl_memory_desc_equal, dnnl_memory_desc_get_size
from ..primitive_descriptors import (
    dnnl_primitive_desc_clone,
    dnnl_primitive_desc_destroy,
    dnnl_primitive_desc_get_attr,
)
from ..primitives import (
    dnnl_primitive_create,
    dnnl_primitive_destroy,
    dnnl_primitive_execute,
    dnnl_primitive_get_primitive_desc,
)
from ..reorder import dnnl_reorder_primitive_desc_create
from ..version import dnnl_status2str, dnnl_version_t
from . import types as _types
from .backward import (
    dnnl_augru_backward_desc_init,
    dnnl_gru_backward_desc_init,
    dnnl_lbr_augru_backward_desc_init,
    dnnl_lbr_gru_backward_desc_init,
    dnnl_lstm_backward_desc_init,
    dnnl_lstm_backward_desc_init_v2,
    dnnl_lstm_backward_desc_init_v3,
    dnnl_vanilla_rnn_backward_desc_init,
)
from .forward import (
    dnnl_augru_forward_desc_init,
    dnnl_gru_forward_desc_init,
    dnnl_lbr_augru_forward_desc_init,
    dnnl_lbr_gru_forward_desc_init,
    dnnl_lstm_forward_desc_init,
    dnnl_lstm_forward_desc_init_v2,
    dnnl_lstm_forward_desc_init_v3,
    dnnl_vanilla_rnn_forward_desc_init,
)
from .memory_descriptors import dnnl_memory_desc_init_by_strides, dnnl_memory_desc_init_by_tag
from .primitive_descriptors import (
    dnnl_primitive_desc_create,
    dnnl_primitive_desc_query,
    dnnl_primitive_desc_query_md,
    dnnl_primitive_desc_query_s32,
)
from .version import dnnl_version

# Enumerations and macros, those of version 2 where it has its own; as in C, an enumerator is also a
# name of its own: v2.dnnl_f32.
for _module in (_types_of_both, _types):
    for _name, _value in vars(_module).items():
        _is_replaced = _module is _types_of_both and hasattr(_types, _name)
        if _name.startswith(("dnnl_", "DNNL_")) and not _is_replaced:
            globals()[_name] = _value
            globals().update(getattr(_value, "__members__", {}))

__all__ = [name for name in globals() if name.startswith(("dnnl_", "DNNL_"))]
