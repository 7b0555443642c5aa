"""Enumerations whose values oneDNN's version 2 has of its own, and their counterparts in version 3.

All others have the same values in both.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeVar

from ....calls.arguments import check_enum
from ....errors import BadParam
from .. import types as v3

Member = TypeVar("Member", bound=IntEnum)


class dnnl_format_tag_t(IntEnum):
    """Orders in memory, outermost first: letters for the dimensions in their logical order, or the
    names that RNN tensors give them. Tags with blocks (capital letters) are absent."""

    dnnl_format_tag_undef = 0
    dnnl_format_tag_any = 1
    dnnl_a = 2
    dnnl_ab = 3
    dnnl_abc = 4
    dnnl_abcd = 5
    dnnl_acbd = 6
    dnnl_abcde = 7
    dnnl_abcdef = 8
    dnnl_abcdefg = 9
    dnnl_abcdefgh = 10
    dnnl_abcdefghi = 11
    dnnl_abcdefghij = 12
    dnnl_abcdefghijk = 13
    dnnl_abcdefghijkl = 14
    dnnl_abdc = 15
    dnnl_abdec = 16
    dnnl_acb = 17
    dnnl_acbde = 18
    dnnl_acbdef = 19
    dnnl_acdb = 20
    dnnl_acdeb = 21
    dnnl_ba = 22
    dnnl_bac = 23
    dnnl_bacd = 24
    dnnl_bacde = 25
    dnnl_bca = 26
    dnnl_bcda = 27
    dnnl_bcdea = 28
    dnnl_cba = 29
    dnnl_cdba = 30
    dnnl_dcab = 31
    dnnl_cdeba = 32
    dnnl_decab = 33
    dnnl_defcab = 34
    dnnl_abced = 35
    dnnl_abcdfe = 36
    dnnl_abcdegf = 37
    dnnl_abcdefhg = 38
    dnnl_abcdefgih = 39
    dnnl_abcdefghji = 40
    dnnl_abcdefghikj = 41
    dnnl_abcdefghijlk = 42
    dnnl_abdfce = 222
    dnnl_abdefc = 223
    dnnl_adcb = 291
    dnnl_adecb = 312
    dnnl_adefcb = 335
    dnnl_adbc = 511

    dnnl_x = 2
    dnnl_nc = 3
    dnnl_tn = 3
    dnnl_nt = 22
    dnnl_tnc = 4
    dnnl_ntc = 23
    dnnl_ldnc = 5
    dnnl_ldgo = 5
    dnnl_ldio = 5
    dnnl_ldoi = 15
    dnnl_ldigo = 7
    dnnl_ldgoi = 16


class dnnl_primitive_kind_t(IntEnum):
    dnnl_undefined_primitive = 0
    dnnl_reorder = 1
    dnnl_rnn = 14


class dnnl_alg_kind_t(IntEnum):
    """Activations of the vanilla RNN, and kinds of cell."""

    dnnl_alg_kind_undef = 0
    dnnl_eltwise_relu = 0x1F
    dnnl_eltwise_tanh = 0x2F
    dnnl_eltwise_logistic = 0xAF
    dnnl_vanilla_rnn = 0x1FFF
    dnnl_vanilla_lstm = 0x2FFF
    dnnl_vanilla_gru = 0x3FFF
    dnnl_lbr_gru = 0x4FFF
    dnnl_vanilla_augru = 0x5FFF
    dnnl_lbr_augru = 0x6FFF


class dnnl_rnn_direction_t(IntEnum):
    dnnl_unidirectional_left2right = 0
    dnnl_unidirectional_right2left = 1
    dnnl_bidirectional_concat = 2
    dnnl_bidirectional_sum = 3

    dnnl_unidirectional = 0


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
    dnnl_query_rnn_d = 76
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


dnnl_iterator_ends = v3.dnnl_status_t.dnnl_last_impl_reached
dnnl_forward_scoring = v3.dnnl_prop_kind_t.dnnl_forward_inference


def in_version_3(argument: str, kind: type[Member], value: int) -> Any:
    """The member of the same name in version 3; BadParam if there is none."""
    name = check_enum(argument, kind, value).name
    known = getattr(v3, kind.__name__).__members__
    if name not in known:
        raise BadParam(argument, "must not be of version 2 alone", name)
    return known[name]
