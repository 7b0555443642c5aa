/* quantized.h: what the kernels of inference on 8-bit codes are given, one of these by value.
 *
 * Data codes are bytes, weight codes are signed bytes. All pointers are to device memory; arrays
 * are dense unless a stride is given. N: sequences, G: gates, H: hidden units, S: units of h, K:
 * codes that a product sums over. */
#ifndef MIOPY_QUANTIZED_H
#define MIOPY_QUANTIZED_H

#include "target.h"

/* A data code stands for (code - shift) / scale; codes are uint8, or int8 with is_signed. */
typedef struct {
    float scale, shift;
    int is_signed;
} code_scale;

/* The factors that made weights into codes: scales[j * per_output] is that of output j. */
typedef struct {
    const float *scales;
    int64_t per_output; /* 1, or 0 for a single factor */
} weight_scale;

/* `count` numbers of data as codes, or codes as either. */
typedef struct {
    void *to;
    const void *from; /* NULL: the number 0 */
    int to_float, from_float;
    int64_t count;
    code_scale data;
} code_copy;

/* Codes of weights, dense, of matrices (layer, direction, gate, output, input), strided. */
typedef struct {
    int8_t *codes;
    const void *from; /* float; or codes, which are copied */
    int from_float;
    int64_t lengths[5], strides[5]; /* of `from`, in elements */
    weight_scale weights;
} weight_copy;

/* sums (rows) of codes (rows, K). */
typedef struct {
    int32_t *sums;
    const int8_t *codes;
    int64_t rows, K;
} code_sums;

/* c (M, N) = a b: b is (N, K), dense; rows of c are c_row apart. Row i of a begins at
 * i / batch * a_step + i % batch * a_row. Exact: K is below 2^16. */
typedef struct {
    int32_t *c;
    const void *a;
    const int8_t *b;
    int64_t M, N, K, batch, a_step, a_row, c_row;
    int is_signed; /* codes of a */
} integer_product;

/* A step's cells, of all sequences. */
typedef struct {
    void *to;      /* codes (N, H): h, what is projected, or the late gate's operand */
    const void *h; /* codes (N, H) before the step; of LSTM not read */
    float *c;      /* (N, H), read and overwritten; of LSTM alone */
    const int32_t *x_products, *h_products;     /* (N, G, H) */
    const int32_t *input_sums, *recurrent_sums; /* (G, H), of the codes of the matrices */
    const float *bias;                          /* (G, H) */
    int64_t rows, hidden_size;
    weight_scale weights; /* outputs (G, H) */
    code_scale data;
} quantized_step;

/* h of a step from its products with the projection. */
typedef struct {
    void *to;                /* codes (N, S) */
    const int32_t *products; /* (N, S) */
    const int32_t *sums;     /* (S), of the codes of the projection */
    int64_t rows, size;
    weight_scale weights; /* outputs (S) */
    code_scale data;
} quantized_projection;

/* The outputs (steps, N, S) of one or two directions as the caller's: beside each other, or as the
 * saturated sum of their codes, whose shift is twice as large. */
typedef struct {
    void *to; /* codes or float: step t of sequence b begins at t * to_step + b * to_row */
    const void *first, *second; /* codes; second may be NULL */
    int to_float, is_sum;
    int64_t to_step, to_row, steps, batch, size;
    code_scale data;
} joined_codes;

#endif
