"""oneDNN's RNN primitives: the functions and enumerations of version 3 that RNN programs use.

A function keeps its name and its parameters' names and order. Parameters that are outputs are
returned instead: one value bare, several as a tuple in the header's order. Failures raise an
exception of miopy.errors whose `status` is the dnnl_status_t. Enumerators may be given as plain
integers. Arguments of execution are memory objects, or at once arrays or addresses.

oneDNN's workspace is what other libraries call reserve space, its scratchpad what they call
workspace.

What oneDNN's CPU library refuses and miopy computes: bias that is NULL; bf16 with a projection, and
f16; weights in ldgoi forward and in ldigo backward, and their gradients in ldgoi; 8-bit weights
that are not packed. `any` is ldgoi in both passes, so that weights need no reorder between them.

What oneDNN's CPU library gets wrong and miopy does not: the gradient of AUGRU (as there with
MIOPY_ONEDNN_EXACT=1 in the environment), of weights_iter without src_iter, and of relu with a
negative slope; bf16 inference with a projection. No sequences, N = 0, are no error.

Mixed types are computed in float32 on copies in the scratchpad; so is training on bf16, whose
gradients are f32. A call all of whose tensors are of one type is computed in that type.

The functions and values of version 2 are in `v2`.
"""

from __future__ import annotations

from . import types as _types
from . import v2
from .attributes import (
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
from .backward_descriptors import (
    dnnl_augru_backward_primitive_desc_create,
    dnnl_gru_backward_primitive_desc_create,
    dnnl_lbr_augru_backward_primitive_desc_create,
    dnnl_lbr_gru_backward_primitive_desc_create,
    dnnl_lstm_backward_primitive_desc_create,
    dnnl_vanilla_rnn_backward_primitive_desc_create,
)
from .engine import (
    dnnl_engine_create,
    dnnl_engine_destroy,
    dnnl_engine_get_count,
    dnnl_engine_get_kind,
    dnnl_stream_create,
    dnnl_stream_destroy,
    dnnl_stream_get_engine,
    dnnl_stream_wait,
)
from .forward_descriptors import (
    dnnl_augru_forward_primitive_desc_create,
    dnnl_gru_forward_primitive_desc_create,
    dnnl_lbr_augru_forward_primitive_desc_create,
    dnnl_lbr_gru_forward_primitive_desc_create,
    dnnl_lstm_forward_primitive_desc_create,
    dnnl_vanilla_rnn_forward_primitive_desc_create,
)
from .memory import (
    dnnl_memory_create,
    dnnl_memory_destroy,
    dnnl_memory_get_data_handle,
    dnnl_memory_get_engine,
    dnnl_memory_get_memory_desc,
    dnnl_memory_map_data,
    dnnl_memory_set_data_handle,
    dnnl_memory_unmap_data,
)
from .memory_descriptors import (
    dnnl_data_type_size,
    dnnl_memory_desc_clone,
    dnnl_memory_desc_create_with_strides,
    dnnl_memory_desc_create_with_tag,
    dnnl_memory_desc_destroy,
    dnnl_memory_desc_equal,
    dnnl_memory_desc_get_size,
    dnnl_memory_desc_query,
)
from .primitive_descriptors import (
    dnnl_primitive_desc_clone,
    dnnl_primitive_desc_destroy,
    dnnl_primitive_desc_get_attr,
    dnnl_primitive_desc_next_impl,
    dnnl_primitive_desc_query,
    dnnl_primitive_desc_query_md,
    dnnl_primitive_desc_query_s32,
)
from .primitives import (
    dnnl_primitive_create,
    dnnl_primitive_destroy,
    dnnl_primitive_execute,
    dnnl_primitive_get_primitive_desc,
)
from .reorder import dnnl_reorder_primitive_desc_create
from .version import dnnl_status2str, dnnl_version, dnnl_version_t

# Enumerations and macros; as in C, an enumerator is also a name of its own: onednn.dnnl_f32.
for _name, _value in vars(_types).items():
    if _name.startswith(("dnnl_", "DNNL_")):
        globals()[_name] = _value
        globals().update(getattr(_value, "__members__", {}))

__all__ = [name for name in globals() if name.startswith(("dnnl_", "DNNL_"))]
