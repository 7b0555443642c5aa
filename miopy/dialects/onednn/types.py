"""oneDNN's enumerations with the values of version 3, and what its data types measure.

Every member is also a name of the module, as in C. Kinds that RNN programs cannot use are absent.
"""

from __future__ import annotations

from enum import IntEnum

from ...calls.datatypes import DataType


class dnnl_status_t(IntEnum):
    dnnl_success = 0
    dnnl_out_of_memory = 1
    dnnl_invalid_arguments = 2
    dnnl_unimplemented = 3
    dnnl_last_impl_reached = 4
    dnnl_runtime_error = 5
    dnnl_not_required = 6


class dnnl_data_type_t(IntEnum):
    dnnl_data_type_undef = 0
    dnnl_f16 = 1
    dnnl_bf16 = 2
    dnnl_f32 = 3
    dnnl_s32 = 4
    dnnl_s8 = 5
    dnnl_u8 = 6
    dnnl_f64 = 7


class dnnl_format_kind_t(IntEnum):
    dnnl_format_kind_undef = 0
    dnnl_format_kind_any = 1
    dnnl_blocked = 2
    dnnl_format_kind_opaque = 3


class dnnl_format_tag_t(IntEnum):
    """Orders in memory, outermost first: letters for the dimensions in their logical order, or the
    names that RNN tensors give them. Tags with blocks (capital letters) are absent."""

    dnnl_format_tag_undef = 0
    dnnl_format_tag_any = 1
    dnnl_a = 2
    dnnl_ab = 3
    dnnl_abc = 4
    dnnl_abcd = 5
    dnnl_abcde = 6
    dnnl_abcdef = 7
    dnnl_abcdefg = 8
    dnnl_abcdefgh = 9
    dnnl_abcdefghi = 10
    dnnl_abcdefghij = 11
    dnnl_abcdefghijk = 12
    dnnl_abcdefghijkl = 13
    dnnl_ba = 14
    dnnl_acb = 15
    dnnl_bac = 16
    dnnl_bca = 17
    dnnl_cab = 18
    dnnl_cba = 19
    dnnl_abdc = 20
    dnnl_acbd = 21
    dnnl_acdb = 22
    dnnl_adbc = 23
    dnnl_adcb = 24
    dnnl_bacd = 25
    dnnl_bcda = 26
    dnnl_cdab = 27
    dnnl_cdba = 28
    dnnl_dcab = 29
    dnnl_abced = 30
    dnnl_abdec = 31
    dnnl_acbde = 32
    dnnl_acdeb = 33
    dnnl_adecb = 34
    dnnl_bacde = 35
    dnnl_bcdea = 36
    dnnl_cdeab = 37
    dnnl_cdeba = 38
    dnnl_decab = 39
    dnnl_abcdfe = 40
    dnnl_abdefc = 41
    dnnl_abdfce = 42
    dnnl_acbdef = 43
    dnnl_adefcb = 44
    dnnl_defcab = 45
    dnnl_abcdegf = 46
    dnnl_abcdefhg = 47
    dnnl_abcdefgih = 48
    dnnl_abcdefghji = 49
    dnnl_abcdefghikj = 50
    dnnl_abcdefghijlk = 51

    dnnl_x = 2
    dnnl_nc = 3
    dnnl_tn = 3
    dnnl_nt = 14
    dnnl_tnc = 4
    dnnl_ntc = 16
    dnnl_ldnc = 5
    dnnl_ldgo = 5
    dnnl_ldio = 5
    dnnl_ldoi = 20
    dnnl_ldigo = 6
    dnnl_ldgoi = 31


class dnnl_prop_kind_t(IntEnum):
    dnnl_prop_kind_undef = 0
    dnnl_forward_training = 64
    dnnl_forward_inference = 96
    dnnl_backward = 128
    dnnl_backward_data = 160
    dnnl_backward_weights = 192
    dnnl_backward_bias = 193

    dnnl_forward = 64


class dnnl_primitive_kind_t(IntEnum):
    dnnl_undefined_primitive = 0
    dnnl_reorder = 1
    dnnl_rnn = 11


class dnnl_alg_kind_t(IntEnum):
    """Activations of the vanilla RNN, and kinds of cell."""

    dnnl_alg_kind_undef = 0
    dnnl_eltwise_relu = 0x20
    dnnl_eltwise_tanh = 0x21
    dnnl_eltwise_logistic = 0x29
    dnnl_vanilla_rnn = 0x1FFF
    dnnl_vanilla_lstm = 0x2FFF
    dnnl_vanilla_gru = 0x3FFF
    dnnl_lbr_gru = 0x4FFF
    dnnl_vanilla_augru = 0x5FFF
    dnnl_lbr_augru = 0x6FFF


class dnnl_rnn_flags_t(IntEnum):
    dnnl_rnn_flags_undef = 0
    dnnl_rnn_flags_diff_weights_overwrite = 1


class dnnl_rnn_direction_t(IntEnum):
    dnnl_rnn_direction_undef = 0
    dnnl_unidirectional_left2right = 1
    dnnl_unidirectional_right2left = 2
    dnnl_bidirectional_concat = 3
    dnnl_bidirectional_sum = 4


class dnnl_engine_kind_t(IntEnum):
    dnnl_any_engine = 0
    dnnl_cpu = 1
    dnnl_gpu = 2


class dnnl_stream_flags_t(IntEnum):
    dnnl_stream_in_order = 1
    dnnl_stream_out_of_order = 2

    dnnl_stream_default_flags = 1


class dnnl_scratchpad_mode_t(IntEnum):
    dnnl_scratchpad_mode_library = 0
    dnnl_scratchpad_mode_user = 1


class dnnl_fpmath_mode_t(IntEnum):
    dnnl_fpmath_mode_strict = 0
    dnnl_fpmath_mode_bf16 = 1
    dnnl_fpmath_mode_f16 = 2
    dnnl_fpmath_mode_any = 3
    dnnl_fpmath_mode_tf32 = 4


class dnnl_query_t(IntEnum):
    dnnl_query_undef = 0
    dnnl_query_engine = 1
    dnnl_query_primitive_kind = 2
    dnnl_query_num_of_inputs_s32 = 3
    dnnl_query_num_of_outputs_s32 = 4
    dnnl_query_time_estimate_f64 = 5
    dnnl_query_memory_consumption_s64 = 6
    dnnl_query_scratchpad_engine = 7
    dnnl_query_impl_info_str = 8
    dnnl_query_reorder_src_engine = 9
    dnnl_query_reorder_dst_engine = 10
    dnnl_query_prop_kind = 11
    dnnl_query_strides = 14
    dnnl_query_flags = 19
    dnnl_query_alpha_f32 = 21
    dnnl_query_beta_f32 = 22
    dnnl_query_cell_kind = 28
    dnnl_query_direction = 29
    dnnl_query_activation_kind = 30
    dnnl_query_some_md = 128
    dnnl_query_src_md = 129
    dnnl_query_diff_src_md = 130
    dnnl_query_weights_md = 131
    dnnl_query_diff_weights_md = 132
    dnnl_query_dst_md = 133
    dnnl_query_diff_dst_md = 134
    dnnl_query_workspace_md = 135
    dnnl_query_scratchpad_md = 136
    dnnl_query_exec_arg_md = 255
    dnnl_query_ndims_s32 = 256
    dnnl_query_dims = 257
    dnnl_query_data_type = 258
    dnnl_query_submemory_offset_s64 = 259
    dnnl_query_padded_dims = 260
    dnnl_query_padded_offsets = 261
    dnnl_query_format_kind = 262
    dnnl_query_inner_nblks_s32 = 263
    dnnl_query_inner_blks = 264
    dnnl_query_inner_idxs = 265


DNNL_ARG_SRC_0 = 1
DNNL_ARG_SRC = DNNL_ARG_SRC_0
DNNL_ARG_SRC_LAYER = DNNL_ARG_SRC_0
DNNL_ARG_FROM = DNNL_ARG_SRC_0
DNNL_ARG_SRC_1 = 2
DNNL_ARG_SRC_ITER = DNNL_ARG_SRC_1
DNNL_ARG_SRC_2 = 3
DNNL_ARG_SRC_ITER_C = DNNL_ARG_SRC_2
DNNL_ARG_SRC_3 = 4
DNNL_ARG_AUGRU_ATTENTION = DNNL_ARG_SRC_3
DNNL_ARG_DST_0 = 17
DNNL_ARG_DST = DNNL_ARG_DST_0
DNNL_ARG_TO = DNNL_ARG_DST_0
DNNL_ARG_DST_LAYER = DNNL_ARG_DST_0
DNNL_ARG_DST_1 = 18
DNNL_ARG_DST_ITER = DNNL_ARG_DST_1
DNNL_ARG_DST_2 = 19
DNNL_ARG_DST_ITER_C = DNNL_ARG_DST_2
DNNL_ARG_WEIGHTS_0 = 33
DNNL_ARG_WEIGHTS = DNNL_ARG_WEIGHTS_0
DNNL_ARG_WEIGHTS_LAYER = DNNL_ARG_WEIGHTS_0
DNNL_ARG_WEIGHTS_1 = 34
DNNL_ARG_WEIGHTS_ITER = DNNL_ARG_WEIGHTS_1
DNNL_ARG_WEIGHTS_2 = 35
DNNL_ARG_WEIGHTS_PEEPHOLE = DNNL_ARG_WEIGHTS_2
DNNL_ARG_WEIGHTS_3 = 36
DNNL_ARG_WEIGHTS_PROJECTION = DNNL_ARG_WEIGHTS_3
DNNL_ARG_BIAS = 41
DNNL_ARG_WORKSPACE = 64
DNNL_ARG_SCRATCHPAD = 80
DNNL_ARG_DIFF_SRC_0 = 129
DNNL_ARG_DIFF_SRC = DNNL_ARG_DIFF_SRC_0
DNNL_ARG_DIFF_SRC_LAYER = DNNL_ARG_DIFF_SRC_0
DNNL_ARG_DIFF_SRC_1 = 130
DNNL_ARG_DIFF_SRC_ITER = DNNL_ARG_DIFF_SRC_1
DNNL_ARG_DIFF_SRC_2 = 131
DNNL_ARG_DIFF_SRC_ITER_C = DNNL_ARG_DIFF_SRC_2
DNNL_ARG_DIFF_SRC_3 = 132
DNNL_ARG_DIFF_AUGRU_ATTENTION = DNNL_ARG_DIFF_SRC_3
DNNL_ARG_DIFF_DST_0 = 145
DNNL_ARG_DIFF_DST = DNNL_ARG_DIFF_DST_0
DNNL_ARG_DIFF_DST_LAYER = DNNL_ARG_DIFF_DST_0
DNNL_ARG_DIFF_DST_1 = 146
DNNL_ARG_DIFF_DST_ITER = DNNL_ARG_DIFF_DST_1
DNNL_ARG_DIFF_DST_2 = 147
DNNL_ARG_DIFF_DST_ITER_C = DNNL_ARG_DIFF_DST_2
DNNL_ARG_DIFF_WEIGHTS_0 = 161
DNNL_ARG_DIFF_WEIGHTS = DNNL_ARG_DIFF_WEIGHTS_0
DNNL_ARG_DIFF_WEIGHTS_LAYER = DNNL_ARG_DIFF_WEIGHTS_0
DNNL_ARG_DIFF_WEIGHTS_1 = 162
DNNL_ARG_DIFF_WEIGHTS_ITER = DNNL_ARG_DIFF_WEIGHTS_1
DNNL_ARG_DIFF_WEIGHTS_2 = 163
DNNL_ARG_DIFF_WEIGHTS_PEEPHOLE = DNNL_ARG_DIFF_WEIGHTS_2
DNNL_ARG_DIFF_WEIGHTS_3 = 164
DNNL_ARG_DIFF_WEIGHTS_PROJECTION = DNNL_ARG_DIFF_WEIGHTS_3
DNNL_ARG_DIFF_BIAS = 169

DNNL_MAX_NDIMS = 12
DNNL_RUNTIME_DIM_VAL = -(2**63)
DNNL_MEMORY_NONE = None
DNNL_MEMORY_ALLOCATE = 2**64 - 1

DATA_TYPES = {
    dnnl_data_type_t.dnnl_f16: DataType("float16", 2),
    dnnl_data_type_t.dnnl_bf16: DataType("bfloat16", 2),
    dnnl_data_type_t.dnnl_f32: DataType("float32", 4),
    dnnl_data_type_t.dnnl_s32: DataType("int32", 4),
    dnnl_data_type_t.dnnl_s8: DataType("int8", 1),
    dnnl_data_type_t.dnnl_u8: DataType("uint8", 1),
    dnnl_data_type_t.dnnl_f64: DataType("float64", 8),
}
