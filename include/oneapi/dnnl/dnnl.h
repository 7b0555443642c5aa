/* oneDNN's C API, version 3, for recurrent networks and what they need: engines, streams, memory,
 * attributes and reorders.
 *
 * Functions that can fail return a dnnl_status_t; a failure leaves their outputs unwritten. `T *`
 * parameters are outputs, `const T *` are inputs; other objects are inputs, too. Objects may be
 * destroyed in any order: what others need of them they keep. Destroying NULL succeeds; what
 * another object lends, by a `const` output or answer, goes with that one and cannot be destroyed.
 *
 * Letters: T steps, N batch, L layers, D directions (1 or 2), G gates, SLC channels of src_layer,
 * SIC of src_iter, DHC hidden units, DIC channels of dst_iter (DHC without projection), DLC of
 * dst_layer (DIC, twice that for bidirectional_concat).
 */

#ifndef ONEAPI_DNNL_DNNL_H
#define ONEAPI_DNNL_DNNL_H

#include <oneapi/dnnl/dnnl_types.h>
#include <oneapi/dnnl/dnnl_version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Library ------------------------------------------------------------------------------ */

/* The release that the library answers for. */
DNNL_EXPORT const dnnl_version_t *dnnl_version(void);

/* The enumerator of a status without its prefix, such as "invalid_arguments", or
 * "unknown status". */
DNNL_EXPORT const char *dnnl_status2str(dnnl_status_t v);

/* ---- Engines and streams ------------------------------------------------------------------ */

/* How many engines of a kind there are. */
DNNL_EXPORT size_t dnnl_engine_get_count(dnnl_engine_kind_t kind);

/* The index-th engine of a kind: a device. */
DNNL_EXPORT dnnl_status_t dnnl_engine_create(dnnl_engine_t *engine, dnnl_engine_kind_t kind,
                                             size_t index);
DNNL_EXPORT dnnl_status_t dnnl_engine_get_kind(dnnl_engine_t engine, dnnl_engine_kind_t *kind);
DNNL_EXPORT dnnl_status_t dnnl_engine_destroy(dnnl_engine_t engine);

/* flags are dnnl_stream_flags_t. */
DNNL_EXPORT dnnl_status_t dnnl_stream_create(dnnl_stream_t *stream, dnnl_engine_t engine,
                                             unsigned flags);
DNNL_EXPORT dnnl_status_t dnnl_stream_get_engine(const_dnnl_stream_t stream, dnnl_engine_t *engine);

/* Returns when everything that was executed on the stream is done. */
DNNL_EXPORT dnnl_status_t dnnl_stream_wait(dnnl_stream_t stream);
DNNL_EXPORT dnnl_status_t dnnl_stream_destroy(dnnl_stream_t stream);

/* ---- Memory descriptors ------------------------------------------------------------------- */

/* dims, and strides in elements, are ndims numbers. */
DNNL_EXPORT dnnl_status_t dnnl_memory_desc_create_with_tag(dnnl_memory_desc_t *memory_desc,
                                                           int ndims, const dnnl_dim_t *dims,
                                                           dnnl_data_type_t data_type,
                                                           dnnl_format_tag_t tag);
DNNL_EXPORT dnnl_status_t dnnl_memory_desc_create_with_strides(dnnl_memory_desc_t *memory_desc,
                                                               int ndims, const dnnl_dim_t *dims,
                                                               dnnl_data_type_t data_type,
                                                               const dnnl_dim_t *strides);
DNNL_EXPORT dnnl_status_t dnnl_memory_desc_clone(dnnl_memory_desc_t *memory_desc,
                                                 const_dnnl_memory_desc_t existing_memory_desc);
DNNL_EXPORT dnnl_status_t dnnl_memory_desc_destroy(dnnl_memory_desc_t memory_desc);

/* One field of it, whose type dnnl_query_t tells. */
DNNL_EXPORT dnnl_status_t dnnl_memory_desc_query(const_dnnl_memory_desc_t memory_desc,
                                                 dnnl_query_t what, void *result);

/* 1 for equal descriptors, else 0. */
DNNL_EXPORT int dnnl_memory_desc_equal(const_dnnl_memory_desc_t lhs, const_dnnl_memory_desc_t rhs);

/* Bytes of an element; 0 for dnnl_data_type_undef. */
DNNL_EXPORT size_t dnnl_data_type_size(dnnl_data_type_t data_type);

/* Bytes of the memory that it describes; 0 for a descriptor of nothing, or of format any. */
DNNL_EXPORT size_t dnnl_memory_desc_get_size(const_dnnl_memory_desc_t memory_desc);

/* ---- Memory ------------------------------------------------------------------------------- */

/* handle: memory of the engine's device, DNNL_MEMORY_NONE or DNNL_MEMORY_ALLOCATE. */
DNNL_EXPORT dnnl_status_t dnnl_memory_create(dnnl_memory_t *memory,
                                             const_dnnl_memory_desc_t memory_desc,
                                             dnnl_engine_t engine, void *handle);
DNNL_EXPORT dnnl_status_t dnnl_memory_get_memory_desc(const_dnnl_memory_t memory,
                                                      const_dnnl_memory_desc_t *memory_desc);
DNNL_EXPORT dnnl_status_t dnnl_memory_get_engine(const_dnnl_memory_t memory, dnnl_engine_t *engine);

/* The memory where the program can read and write it, until it is unmapped. */
DNNL_EXPORT dnnl_status_t dnnl_memory_map_data(const_dnnl_memory_t memory, void **mapped_ptr);
DNNL_EXPORT dnnl_status_t dnnl_memory_unmap_data(const_dnnl_memory_t memory, void *mapped_ptr);

DNNL_EXPORT dnnl_status_t dnnl_memory_get_data_handle(const_dnnl_memory_t memory, void **handle);
DNNL_EXPORT dnnl_status_t dnnl_memory_set_data_handle(dnnl_memory_t memory, void *handle);
DNNL_EXPORT dnnl_status_t dnnl_memory_destroy(dnnl_memory_t memory);

/* ---- Attributes --------------------------------------------------------------------------- */

DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_create(dnnl_primitive_attr_t *attr);
DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_clone(dnnl_primitive_attr_t *attr,
                                                    const_dnnl_primitive_attr_t existing_attr);
DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_destroy(dnnl_primitive_attr_t attr);

DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_get_scratchpad_mode(const_dnnl_primitive_attr_t attr,
                                                                  dnnl_scratchpad_mode_t *mode);
DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_set_scratchpad_mode(dnnl_primitive_attr_t attr,
                                                                  dnnl_scratchpad_mode_t mode);
DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_get_fpmath_mode(const_dnnl_primitive_attr_t attr,
                                                              dnnl_fpmath_mode_t *mode);
DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_set_fpmath_mode(dnnl_primitive_attr_t attr,
                                                              dnnl_fpmath_mode_t mode);

/* Quantized data is round(value * scale + shift). */
DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_set_rnn_data_qparams(dnnl_primitive_attr_t attr,
                                                                   float scale, float shift);
DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_get_rnn_data_qparams(const_dnnl_primitive_attr_t attr,
                                                                   float *scale, float *shift);

/* Quantized weights are round(value * scale). mask: 0 for one scale, or bits of the dimensions that
 * have scales of their own: 24, gates and output channels; 8, output channels of the projection.
 * The scales that Get finds are valid as long as the attributes are. */
DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_set_rnn_weights_qparams(dnnl_primitive_attr_t attr,
                                                                      dnnl_dim_t count, int mask,
                                                                      const float *scales);
DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_get_rnn_weights_qparams(
    const_dnnl_primitive_attr_t attr, dnnl_dim_t *count, int *mask, const float **scales);
DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_set_rnn_weights_projection_qparams(
    dnnl_primitive_attr_t attr, dnnl_dim_t count, int mask, const float *scales);
DNNL_EXPORT dnnl_status_t dnnl_primitive_attr_get_rnn_weights_projection_qparams(
    const_dnnl_primitive_attr_t attr, dnnl_dim_t *count, int *mask, const float **scales);

/* ---- Primitive descriptors and primitives ------------------------------------------------- */

/* Another implementation: last_impl_reached, as there is one of each. */
DNNL_EXPORT dnnl_status_t dnnl_primitive_desc_next_impl(dnnl_primitive_desc_t primitive_desc);
DNNL_EXPORT dnnl_status_t dnnl_primitive_desc_clone(
    dnnl_primitive_desc_t *primitive_desc, const_dnnl_primitive_desc_t existing_primitive_desc);
DNNL_EXPORT dnnl_status_t dnnl_primitive_desc_get_attr(const_dnnl_primitive_desc_t primitive_desc,
                                                       const_dnnl_primitive_attr_t *attr);
DNNL_EXPORT dnnl_status_t dnnl_primitive_desc_destroy(dnnl_primitive_desc_t primitive_desc);

/* One fact about it, whose type dnnl_query_t tells. index: which of several there are, a DNNL_ARG
 * value for exec_arg_md, else 0. */
DNNL_EXPORT dnnl_status_t dnnl_primitive_desc_query(const_dnnl_primitive_desc_t primitive_desc,
                                                    dnnl_query_t what, int index, void *result);

/* The same for memory descriptors and integers: a descriptor of nothing where there is none, NULL
 * or 0 if there is no such query. */
DNNL_EXPORT const_dnnl_memory_desc_t dnnl_primitive_desc_query_md(
    const_dnnl_primitive_desc_t primitive_desc, dnnl_query_t what, int index);
DNNL_EXPORT int dnnl_primitive_desc_query_s32(const_dnnl_primitive_desc_t primitive_desc,
                                              dnnl_query_t what, int index);

DNNL_EXPORT dnnl_status_t dnnl_primitive_create(dnnl_primitive_t *primitive,
                                                const_dnnl_primitive_desc_t primitive_desc);

/* args: nargs tensors in any order; those that the primitive does not know are not looked at. */
DNNL_EXPORT dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive,
                                                 dnnl_stream_t stream, int nargs,
                                                 const dnnl_exec_arg_t *args);
DNNL_EXPORT dnnl_status_t dnnl_primitive_get_primitive_desc(
    const_dnnl_primitive_t primitive, const_dnnl_primitive_desc_t *primitive_desc);
DNNL_EXPORT dnnl_status_t dnnl_primitive_destroy(dnnl_primitive_t primitive);

/* Copies, converting type and layout. */
DNNL_EXPORT dnnl_status_t dnnl_reorder_primitive_desc_create(
    dnnl_primitive_desc_t *reorder_primitive_desc, const_dnnl_memory_desc_t src_desc,
    dnnl_engine_t src_engine, const_dnnl_memory_desc_t dst_desc, dnnl_engine_t dst_engine,
    const_dnnl_primitive_attr_t attr);

/* ---- Recurrent networks ------------------------------------------------------------------- */

/* Shapes, in logical order. A NULL descriptor is as good as one of nothing: there is no such
 * tensor.
 *
 *   src_layer, dst_layer          (T, N, SLC), (T, N, DLC)
 *   src_iter, dst_iter            (L, D, N, SIC), (L, D, N, DIC); optional
 *   src_iter_c, dst_iter_c        (L, D, N, DHC); with those of LSTM
 *   attention                     (T, N, 1)
 *   weights_layer, weights_iter   (L, D, SLC, G, DHC), (L, D, SIC, G, DHC)
 *   weights_peephole              (L, D, 3, DHC); optional
 *   weights_projection            (L, D, DHC, DIC); optional
 *   bias                          (L, D, G, DHC), of the lbr cells (L, D, 4, DHC)
 *   diff_*                        as what it is the gradient of
 *
 * Gates: LSTM i, f, c, o, its peepholes i, f, o; GRU u, r, o, and in the bias of the lbr cells u,
 * r, o, u'. flags are dnnl_rnn_flags_t; alpha is the slope of relu below 0, beta is not used.
 * hint_fwd_pd is the forward_training descriptor that goes with it, or NULL. attr may be NULL. */
DNNL_EXPORT dnnl_status_t dnnl_vanilla_rnn_forward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_alg_kind_t activation, dnnl_rnn_direction_t direction,
    const_dnnl_memory_desc_t src_layer_desc, const_dnnl_memory_desc_t src_iter_desc,
    const_dnnl_memory_desc_t weights_layer_desc, const_dnnl_memory_desc_t weights_iter_desc,
    const_dnnl_memory_desc_t bias_desc, const_dnnl_memory_desc_t dst_layer_desc,
    const_dnnl_memory_desc_t dst_iter_desc, unsigned flags, float alpha, float beta,
    const_dnnl_primitive_attr_t attr);
DNNL_EXPORT dnnl_status_t dnnl_vanilla_rnn_backward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_alg_kind_t activation, dnnl_rnn_direction_t direction,
    const_dnnl_memory_desc_t src_layer_desc, const_dnnl_memory_desc_t src_iter_desc,
    const_dnnl_memory_desc_t weights_layer_desc, const_dnnl_memory_desc_t weights_iter_desc,
    const_dnnl_memory_desc_t bias_desc, const_dnnl_memory_desc_t dst_layer_desc,
    const_dnnl_memory_desc_t dst_iter_desc, const_dnnl_memory_desc_t diff_src_layer_desc,
    const_dnnl_memory_desc_t diff_src_iter_desc, const_dnnl_memory_desc_t diff_weights_layer_desc,
    const_dnnl_memory_desc_t diff_weights_iter_desc, const_dnnl_memory_desc_t diff_bias_desc,
    const_dnnl_memory_desc_t diff_dst_layer_desc, const_dnnl_memory_desc_t diff_dst_iter_desc,
    unsigned flags, float alpha, float beta, const_dnnl_primitive_desc_t hint_fwd_pd,
    const_dnnl_primitive_attr_t attr);

DNNL_EXPORT dnnl_status_t dnnl_lstm_forward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t src_layer_desc,
    const_dnnl_memory_desc_t src_iter_desc, const_dnnl_memory_desc_t src_iter_c_desc,
    const_dnnl_memory_desc_t weights_layer_desc, const_dnnl_memory_desc_t weights_iter_desc,
    const_dnnl_memory_desc_t weights_peephole_desc,
    const_dnnl_memory_desc_t weights_projection_desc, const_dnnl_memory_desc_t bias_desc,
    const_dnnl_memory_desc_t dst_layer_desc, const_dnnl_memory_desc_t dst_iter_desc,
    const_dnnl_memory_desc_t dst_iter_c_desc, unsigned flags, const_dnnl_primitive_attr_t attr);
DNNL_EXPORT dnnl_status_t dnnl_lstm_backward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t src_layer_desc,
    const_dnnl_memory_desc_t src_iter_desc, const_dnnl_memory_desc_t src_iter_c_desc,
    const_dnnl_memory_desc_t weights_layer_desc, const_dnnl_memory_desc_t weights_iter_desc,
    const_dnnl_memory_desc_t weights_peephole_desc,
    const_dnnl_memory_desc_t weights_projection_desc, const_dnnl_memory_desc_t bias_desc,
    const_dnnl_memory_desc_t dst_layer_desc, const_dnnl_memory_desc_t dst_iter_desc,
    const_dnnl_memory_desc_t dst_iter_c_desc, const_dnnl_memory_desc_t diff_src_layer_desc,
    const_dnnl_memory_desc_t diff_src_iter_desc, const_dnnl_memory_desc_t diff_src_iter_c_desc,
    const_dnnl_memory_desc_t diff_weights_layer_desc,
    const_dnnl_memory_desc_t diff_weights_iter_desc,
    const_dnnl_memory_desc_t diff_weights_peephole_desc,
    const_dnnl_memory_desc_t diff_weights_projection_desc, const_dnnl_memory_desc_t diff_bias_desc,
    const_dnnl_memory_desc_t diff_dst_layer_desc, const_dnnl_memory_desc_t diff_dst_iter_desc,
    const_dnnl_memory_desc_t diff_dst_iter_c_desc, unsigned flags,
    const_dnnl_primitive_desc_t hint_fwd_pd, const_dnnl_primitive_attr_t attr);

DNNL_EXPORT dnnl_status_t dnnl_gru_forward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t src_layer_desc,
    const_dnnl_memory_desc_t src_iter_desc, const_dnnl_memory_desc_t weights_layer_desc,
    const_dnnl_memory_desc_t weights_iter_desc, const_dnnl_memory_desc_t bias_desc,
    const_dnnl_memory_desc_t dst_layer_desc, const_dnnl_memory_desc_t dst_iter_desc, unsigned flags,
    const_dnnl_primitive_attr_t attr);
DNNL_EXPORT dnnl_status_t dnnl_gru_backward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t src_layer_desc,
    const_dnnl_memory_desc_t src_iter_desc, const_dnnl_memory_desc_t weights_layer_desc,
    const_dnnl_memory_desc_t weights_iter_desc, const_dnnl_memory_desc_t bias_desc,
    const_dnnl_memory_desc_t dst_layer_desc, const_dnnl_memory_desc_t dst_iter_desc,
    const_dnnl_memory_desc_t diff_src_layer_desc, const_dnnl_memory_desc_t diff_src_iter_desc,
    const_dnnl_memory_desc_t diff_weights_layer_desc,
    const_dnnl_memory_desc_t diff_weights_iter_desc, const_dnnl_memory_desc_t diff_bias_desc,
    const_dnnl_memory_desc_t diff_dst_layer_desc, const_dnnl_memory_desc_t diff_dst_iter_desc,
    unsigned flags, const_dnnl_primitive_desc_t hint_fwd_pd, const_dnnl_primitive_attr_t attr);

DNNL_EXPORT dnnl_status_t dnnl_lbr_gru_forward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t src_layer_desc,
    const_dnnl_memory_desc_t src_iter_desc, const_dnnl_memory_desc_t weights_layer_desc,
    const_dnnl_memory_desc_t weights_iter_desc, const_dnnl_memory_desc_t bias_desc,
    const_dnnl_memory_desc_t dst_layer_desc, const_dnnl_memory_desc_t dst_iter_desc, unsigned flags,
    const_dnnl_primitive_attr_t attr);
DNNL_EXPORT dnnl_status_t dnnl_lbr_gru_backward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t src_layer_desc,
    const_dnnl_memory_desc_t src_iter_desc, const_dnnl_memory_desc_t weights_layer_desc,
    const_dnnl_memory_desc_t weights_iter_desc, const_dnnl_memory_desc_t bias_desc,
    const_dnnl_memory_desc_t dst_layer_desc, const_dnnl_memory_desc_t dst_iter_desc,
    const_dnnl_memory_desc_t diff_src_layer_desc, const_dnnl_memory_desc_t diff_src_iter_desc,
    const_dnnl_memory_desc_t diff_weights_layer_desc,
    const_dnnl_memory_desc_t diff_weights_iter_desc, const_dnnl_memory_desc_t diff_bias_desc,
    const_dnnl_memory_desc_t diff_dst_layer_desc, const_dnnl_memory_desc_t diff_dst_iter_desc,
    unsigned flags, const_dnnl_primitive_desc_t hint_fwd_pd, const_dnnl_primitive_attr_t attr);

DNNL_EXPORT dnnl_status_t dnnl_augru_forward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t src_layer_desc,
    const_dnnl_memory_desc_t src_iter_desc, const_dnnl_memory_desc_t attention_desc,
    const_dnnl_memory_desc_t weights_layer_desc, const_dnnl_memory_desc_t weights_iter_desc,
    const_dnnl_memory_desc_t bias_desc, const_dnnl_memory_desc_t dst_layer_desc,
    const_dnnl_memory_desc_t dst_iter_desc, unsigned flags, const_dnnl_primitive_attr_t attr);
DNNL_EXPORT dnnl_status_t dnnl_augru_backward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t src_layer_desc,
    const_dnnl_memory_desc_t src_iter_desc, const_dnnl_memory_desc_t attention_desc,
    const_dnnl_memory_desc_t weights_layer_desc, const_dnnl_memory_desc_t weights_iter_desc,
    const_dnnl_memory_desc_t bias_desc, const_dnnl_memory_desc_t dst_layer_desc,
    const_dnnl_memory_desc_t dst_iter_desc, const_dnnl_memory_desc_t diff_src_layer_desc,
    const_dnnl_memory_desc_t diff_src_iter_desc, const_dnnl_memory_desc_t diff_attention_desc,
    const_dnnl_memory_desc_t diff_weights_layer_desc,
    const_dnnl_memory_desc_t diff_weights_iter_desc, const_dnnl_memory_desc_t diff_bias_desc,
    const_dnnl_memory_desc_t diff_dst_layer_desc, const_dnnl_memory_desc_t diff_dst_iter_desc,
    unsigned flags, const_dnnl_primitive_desc_t hint_fwd_pd, const_dnnl_primitive_attr_t attr);

DNNL_EXPORT dnnl_status_t dnnl_lbr_augru_forward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t src_layer_desc,
    const_dnnl_memory_desc_t src_iter_desc, const_dnnl_memory_desc_t attention_desc,
    const_dnnl_memory_desc_t weights_layer_desc, const_dnnl_memory_desc_t weights_iter_desc,
    const_dnnl_memory_desc_t bias_desc, const_dnnl_memory_desc_t dst_layer_desc,
    const_dnnl_memory_desc_t dst_iter_desc, unsigned flags, const_dnnl_primitive_attr_t attr);
DNNL_EXPORT dnnl_status_t dnnl_lbr_augru_backward_primitive_desc_create(
    dnnl_primitive_desc_t *primitive_desc, dnnl_engine_t engine, dnnl_prop_kind_t prop_kind,
    dnnl_rnn_direction_t direction, const_dnnl_memory_desc_t src_layer_desc,
    const_dnnl_memory_desc_t src_iter_desc, const_dnnl_memory_desc_t attention_desc,
    const_dnnl_memory_desc_t weights_layer_desc, const_dnnl_memory_desc_t weights_iter_desc,
    const_dnnl_memory_desc_t bias_desc, const_dnnl_memory_desc_t dst_layer_desc,
    const_dnnl_memory_desc_t dst_iter_desc, const_dnnl_memory_desc_t diff_src_layer_desc,
    const_dnnl_memory_desc_t diff_src_iter_desc, const_dnnl_memory_desc_t diff_attention_desc,
    const_dnnl_memory_desc_t diff_weights_layer_desc,
    const_dnnl_memory_desc_t diff_weights_iter_desc, const_dnnl_memory_desc_t diff_bias_desc,
    const_dnnl_memory_desc_t diff_dst_layer_desc, const_dnnl_memory_desc_t diff_dst_iter_desc,
    unsigned flags, const_dnnl_primitive_desc_t hint_fwd_pd, const_dnnl_primitive_attr_t attr);

#ifdef __cplusplus
}
#endif

#endif
