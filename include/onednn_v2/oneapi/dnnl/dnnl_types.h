/* Types and values of oneDNN's C API, version 2, as far as RNNs need them. */

#ifndef ONEDNN_V2_ONEAPI_DNNL_DNNL_TYPES_H
#define ONEDNN_V2_ONEAPI_DNNL_DNNL_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "dnnl_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Values ------------------------------------------------------------------------------- */

/* not_required: there is no such thing. */
typedef enum {
    dnnl_success = 0,
    dnnl_out_of_memory = 1,
    dnnl_invalid_arguments = 2,
    dnnl_unimplemented = 3,
    dnnl_iterator_ends = 4,
    dnnl_runtime_error = 5,
    dnnl_not_required = 6
} dnnl_status_t;

/* RNNs take f32, bf16 and f16; s8 and u8 are of quantized inference. */
typedef enum {
    dnnl_data_type_undef = 0,
    dnnl_f16 = 1,
    dnnl_bf16 = 2,
    dnnl_f32 = 3,
    dnnl_s32 = 4,
    dnnl_s8 = 5,
    dnnl_u8 = 6
} dnnl_data_type_t;

/* What a memory descriptor knows of the order in memory: nothing yet, strides, or, as rnn_packed, a
 * secret of miopy's. */
typedef enum {
    dnnl_format_kind_undef = 0,
    dnnl_format_kind_any = 1,
    dnnl_blocked = 2,
    dnnl_format_kind_wino = 3,
    dnnl_format_kind_rnn_packed = 4
} dnnl_format_kind_t;

/* Orders in memory, outermost first: letters are the dimensions in their logical order, whose names
 * for RNN tensors are at the end. Tags with blocks are absent. */
typedef enum {
    dnnl_format_tag_undef = 0,
    dnnl_format_tag_any = 1,
    dnnl_a = 2,
    dnnl_ab = 3,
    dnnl_abc = 4,
    dnnl_abcd = 5,
    dnnl_acbd = 6,
    dnnl_abcde = 7,
    dnnl_abcdef = 8,
    dnnl_abcdefg = 9,
    dnnl_abcdefgh = 10,
    dnnl_abcdefghi = 11,
    dnnl_abcdefghij = 12,
    dnnl_abcdefghijk = 13,
    dnnl_abcdefghijkl = 14,
    dnnl_abdc = 15,
    dnnl_abdec = 16,
    dnnl_acb = 17,
    dnnl_acbde = 18,
    dnnl_acbdef = 19,
    dnnl_acdb = 20,
    dnnl_acdeb = 21,
    dnnl_ba = 22,
    dnnl_bac = 23,
    dnnl_bacd = 24,
    dnnl_bacde = 25,
    dnnl_bca = 26,
    dnnl_bcda = 27,
    dnnl_bcdea = 28,
    dnnl_cba = 29,
    dnnl_cdba = 30,
    dnnl_dcab = 31,
    dnnl_cdeba = 32,
    dnnl_decab = 33,
    dnnl_defcab = 34,
    dnnl_abced = 35,
    dnnl_abcdfe = 36,
    dnnl_abcdegf = 37,
    dnnl_abcdefhg = 38,
    dnnl_abcdefgih = 39,
    dnnl_abcdefghji = 40,
    dnnl_abcdefghikj = 41,
    dnnl_abcdefghijlk = 42,
    dnnl_abdfce = 222,
    dnnl_abdefc = 223,
    dnnl_adcb = 291,
    dnnl_adecb = 312,
    dnnl_adefcb = 335,
    dnnl_adbc = 511,
    dnnl_x = 2,
    dnnl_nc = 3,
    dnnl_tn = 3,
    dnnl_nt = 22,
    dnnl_tnc = 4,
    dnnl_ntc = 23,
    dnnl_ldnc = 5,
    dnnl_ldgo = 5,
    dnnl_ldio = 5,
    dnnl_ldoi = 15,
    dnnl_ldigo = 7,
    dnnl_ldgoi = 16
} dnnl_format_tag_t;

/* ---- Objects ------------------------------------------------------------------------------ */

/* All are opaque. What is const belongs to another object and goes with it. Descriptors of memory
 * and operations, below, are the program's own: nothing destroys them. */
typedef struct dnnl_engine *dnnl_engine_t;
typedef struct dnnl_stream *dnnl_stream_t;
typedef const struct dnnl_stream *const_dnnl_stream_t;
typedef struct dnnl_memory *dnnl_memory_t;
typedef const struct dnnl_memory *const_dnnl_memory_t;
typedef struct dnnl_primitive_attr *dnnl_primitive_attr_t;
typedef const struct dnnl_primitive_attr *const_dnnl_primitive_attr_t;
typedef struct dnnl_primitive_desc *dnnl_primitive_desc_t;
typedef const struct dnnl_primitive_desc *const_dnnl_primitive_desc_t;
typedef struct dnnl_primitive *dnnl_primitive_t;
typedef const struct dnnl_primitive *const_dnnl_primitive_t;

/* A release; runtimes are DNNL_RUNTIME values. */
typedef struct {
    int major;
    int minor;
    int patch;
    const char *hash;
    unsigned cpu_runtime;
    unsigned gpu_runtime;
} dnnl_version_t;

/* ---- Memory ------------------------------------------------------------------------------- */

#define DNNL_MAX_NDIMS 12

/* Sizes and strides in elements; only the first ndims count. */
typedef int64_t dnnl_dim_t;
typedef dnnl_dim_t dnnl_dims_t[DNNL_MAX_NDIMS];

/* A size that is known only at execution: RNNs refuse it as unimplemented. */
#define DNNL_RUNTIME_DIM_VAL INT64_MIN

/* Handles of dnnl_memory_create: none yet, or memory of the library's own. */
#define DNNL_MEMORY_NONE (NULL)
#define DNNL_MEMORY_ALLOCATE ((void *)(size_t)-1)

/* A blocked format: only those without inner blocks are known. */
typedef struct {
    dnnl_dims_t strides;
    int inner_nblks;
    dnnl_dims_t inner_blks;
    dnnl_dims_t inner_idxs;
} dnnl_blocking_desc_t;

typedef enum {
    dnnl_packed_format_undef = 0,
    dnnl_ldigo_p = 1,
    dnnl_ldgoi_p = 2,
    dnnl_ldio_p = 3
} dnnl_rnn_packed_memory_format_t;

/* Of packed weights only `size`, in bytes, counts. */
typedef struct {
    dnnl_rnn_packed_memory_format_t format;
    int n_parts;
    int n;
    int ldb;
    int parts[4];
    size_t part_pack_size[4];
    unsigned pack_part[4];
    size_t offset_compensation;
    size_t size;
    char reserved[200];
} dnnl_rnn_packed_desc_t;

/* What weights of other libraries hold besides: flags must be 0. */
typedef struct {
    uint64_t flags;
    int compensation_mask;
    float scale_adjust;
    int asymm_compensation_mask;
    char reserved[60];
} dnnl_memory_extra_desc_t;

/* A tensor; one of no dimensions, all zeros, stands for none. Padding and offset0 are not known. */
typedef struct {
    int ndims;
    dnnl_dims_t dims;
    dnnl_data_type_t data_type;
    dnnl_dims_t padded_dims;
    dnnl_dims_t padded_offsets;
    dnnl_dim_t offset0;
    dnnl_format_kind_t format_kind;
    union {
        dnnl_blocking_desc_t blocking;
        dnnl_rnn_packed_desc_t rnn_packed_desc;
    } format_desc;
    dnnl_memory_extra_desc_t extra;
} dnnl_memory_desc_t;

/* ---- Devices ------------------------------------------------------------------------------ */

typedef enum { dnnl_any_engine = 0, dnnl_cpu = 1, dnnl_gpu = 2 } dnnl_engine_kind_t;

typedef enum {
    dnnl_stream_in_order = 1,
    dnnl_stream_out_of_order = 2,
    dnnl_stream_default_flags = 1
} dnnl_stream_flags_t;

/* ---- Primitives --------------------------------------------------------------------------- */

/* What a primitive computes. RNNs are forward_training, forward_inference or backward. */
typedef enum {
    dnnl_prop_kind_undef = 0,
    dnnl_forward_training = 64,
    dnnl_forward_inference = 96,
    dnnl_backward = 128,
    dnnl_backward_data = 160,
    dnnl_backward_weights = 192,
    dnnl_backward_bias = 193,
    dnnl_forward = 64,
    dnnl_forward_scoring = 96
} dnnl_prop_kind_t;

typedef enum {
    dnnl_undefined_primitive = 0,
    dnnl_reorder = 1,
    dnnl_rnn = 14
} dnnl_primitive_kind_t;

/* Activations of the vanilla RNN, and kinds of cell. */
typedef enum {
    dnnl_alg_kind_undef = 0,
    dnnl_eltwise_relu = 0x1f,
    dnnl_eltwise_tanh = 0x2f,
    dnnl_eltwise_logistic = 0xaf,
    dnnl_vanilla_rnn = 0x1fff,
    dnnl_vanilla_lstm = 0x2fff,
    dnnl_vanilla_gru = 0x3fff,
    dnnl_lbr_gru = 0x4fff,
    dnnl_vanilla_augru = 0x5fff,
    dnnl_lbr_augru = 0x6fff
} dnnl_alg_kind_t;

/* There are none: backward adds to the gradients of weights and biases. */
typedef enum { dnnl_rnn_flags_undef = 0 } dnnl_rnn_flags_t;

/* concat and sum tell how the outputs of two independent stacks of layers meet. */
typedef enum {
    dnnl_unidirectional_left2right = 0,
    dnnl_unidirectional_right2left = 1,
    dnnl_bidirectional_concat = 2,
    dnnl_bidirectional_sum = 3,
    dnnl_unidirectional = 0
} dnnl_rnn_direction_t;

/* Whose memory a primitive works in: the library's, or one that is given to its execution. */
typedef enum {
    dnnl_scratchpad_mode_library = 0,
    dnnl_scratchpad_mode_user = 1
} dnnl_scratchpad_mode_t;

/* Which narrower types products of f32 may use. */
typedef enum {
    dnnl_fpmath_mode_strict = 0,
    dnnl_fpmath_mode_bf16 = 1,
    dnnl_fpmath_mode_f16 = 2,
    dnnl_fpmath_mode_any = 3
} dnnl_fpmath_mode_t;

/* An operation descriptor, filled by the desc_init functions. The attention of AUGRU is in the
 * place of the peepholes. */
typedef struct {
    dnnl_primitive_kind_t primitive_kind;
    dnnl_prop_kind_t prop_kind;
    dnnl_alg_kind_t cell_kind;
    dnnl_rnn_direction_t direction;
    dnnl_memory_desc_t src_layer_desc;
    dnnl_memory_desc_t src_iter_desc;
    dnnl_memory_desc_t src_iter_c_desc;
    dnnl_memory_desc_t weights_layer_desc;
    dnnl_memory_desc_t weights_iter_desc;
    dnnl_memory_desc_t bias_desc;
    dnnl_memory_desc_t dst_layer_desc;
    dnnl_memory_desc_t dst_iter_desc;
    dnnl_memory_desc_t dst_iter_c_desc;
    dnnl_memory_desc_t weights_peephole_desc;
    dnnl_memory_desc_t weights_projection_desc;
    dnnl_memory_desc_t diff_src_layer_desc;
    dnnl_memory_desc_t diff_src_iter_desc;
    dnnl_memory_desc_t diff_src_iter_c_desc;
    dnnl_memory_desc_t diff_weights_layer_desc;
    dnnl_memory_desc_t diff_weights_iter_desc;
    dnnl_memory_desc_t diff_bias_desc;
    dnnl_memory_desc_t diff_dst_layer_desc;
    dnnl_memory_desc_t diff_dst_iter_desc;
    dnnl_memory_desc_t diff_dst_iter_c_desc;
    dnnl_memory_desc_t diff_weights_peephole_desc;
    dnnl_memory_desc_t diff_weights_projection_desc;
    unsigned flags;
    dnnl_alg_kind_t activation_kind;
    float alpha;
    float beta;
} dnnl_rnn_desc_t;

/* The address of an operation descriptor. */
typedef void *dnnl_op_desc_t;
typedef const void *const_dnnl_op_desc_t;

/* What can be asked of primitive descriptors, and the type of `*result` by the end of the name:
 *
 *   _engine        dnnl_engine_t
 *   _s32, _s64     int, dnnl_dim_t
 *   _str           const char *
 *   _md            const dnnl_memory_desc_t *
 *   _kind          the enumeration
 *   rnn_d          const dnnl_rnn_desc_t *
 *
 * What a pointer points to is valid as long as the descriptor that was asked. */
typedef enum {
    dnnl_query_undef = 0,
    dnnl_query_engine = 1,
    dnnl_query_primitive_kind = 2,
    dnnl_query_num_of_inputs_s32 = 3,
    dnnl_query_num_of_outputs_s32 = 4,
    dnnl_query_time_estimate_f64 = 5,
    dnnl_query_memory_consumption_s64 = 6,
    dnnl_query_scratchpad_engine = 7,
    dnnl_query_impl_info_str = 8,
    dnnl_query_reorder_src_engine = 9,
    dnnl_query_reorder_dst_engine = 10,
    dnnl_query_prop_kind = 11,
    dnnl_query_rnn_d = 76,
    dnnl_query_some_md = 128,
    dnnl_query_src_md = 129,
    dnnl_query_diff_src_md = 130,
    dnnl_query_weights_md = 131,
    dnnl_query_diff_weights_md = 132,
    dnnl_query_dst_md = 133,
    dnnl_query_diff_dst_md = 134,
    dnnl_query_workspace_md = 135,
    dnnl_query_scratchpad_md = 136,
    dnnl_query_exec_arg_md = 255
} dnnl_query_t;

/* ---- Execution ---------------------------------------------------------------------------- */

/* A tensor of an execution: which one it is, a DNNL_ARG value, and its memory. */
typedef struct {
    int arg;
    dnnl_memory_t memory;
} dnnl_exec_arg_t;

#define DNNL_ARG_SRC_0 1
#define DNNL_ARG_SRC 1
#define DNNL_ARG_SRC_LAYER 1
#define DNNL_ARG_FROM 1
#define DNNL_ARG_SRC_1 2
#define DNNL_ARG_SRC_ITER 2
#define DNNL_ARG_SRC_2 3
#define DNNL_ARG_SRC_ITER_C 3
#define DNNL_ARG_SRC_3 4
#define DNNL_ARG_AUGRU_ATTENTION 4
#define DNNL_ARG_DST_0 17
#define DNNL_ARG_DST 17
#define DNNL_ARG_TO 17
#define DNNL_ARG_DST_LAYER 17
#define DNNL_ARG_DST_1 18
#define DNNL_ARG_DST_ITER 18
#define DNNL_ARG_DST_2 19
#define DNNL_ARG_DST_ITER_C 19
#define DNNL_ARG_WEIGHTS_0 33
#define DNNL_ARG_WEIGHTS 33
#define DNNL_ARG_WEIGHTS_LAYER 33
#define DNNL_ARG_WEIGHTS_1 34
#define DNNL_ARG_WEIGHTS_ITER 34
#define DNNL_ARG_WEIGHTS_2 35
#define DNNL_ARG_WEIGHTS_PEEPHOLE 35
#define DNNL_ARG_WEIGHTS_3 36
#define DNNL_ARG_WEIGHTS_PROJECTION 36
#define DNNL_ARG_BIAS 41
#define DNNL_ARG_WORKSPACE 64
#define DNNL_ARG_SCRATCHPAD 80
#define DNNL_ARG_DIFF_SRC_0 129
#define DNNL_ARG_DIFF_SRC 129
#define DNNL_ARG_DIFF_SRC_LAYER 129
#define DNNL_ARG_DIFF_SRC_1 130
#define DNNL_ARG_DIFF_SRC_ITER 130
#define DNNL_ARG_DIFF_SRC_2 131
#define DNNL_ARG_DIFF_SRC_ITER_C 131
#define DNNL_ARG_DIFF_SRC_3 132
#define DNNL_ARG_DIFF_AUGRU_ATTENTION 132
#define DNNL_ARG_DIFF_DST_0 145
#define DNNL_ARG_DIFF_DST 145
#define DNNL_ARG_DIFF_DST_LAYER 145
#define DNNL_ARG_DIFF_DST_1 146
#define DNNL_ARG_DIFF_DST_ITER 146
#define DNNL_ARG_DIFF_DST_2 147
#define DNNL_ARG_DIFF_DST_ITER_C 147
#define DNNL_ARG_DIFF_WEIGHTS_0 161
#define DNNL_ARG_DIFF_WEIGHTS 161
#define DNNL_ARG_DIFF_WEIGHTS_LAYER 161
#define DNNL_ARG_DIFF_WEIGHTS_1 162
#define DNNL_ARG_DIFF_WEIGHTS_ITER 162
#define DNNL_ARG_DIFF_WEIGHTS_2 163
#define DNNL_ARG_DIFF_WEIGHTS_PEEPHOLE 163
#define DNNL_ARG_DIFF_WEIGHTS_3 164
#define DNNL_ARG_DIFF_WEIGHTS_PROJECTION 164
#define DNNL_ARG_DIFF_BIAS 169

#ifdef __cplusplus
}
#endif

#endif
