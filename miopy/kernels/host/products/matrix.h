#ifndef MIOPY_MATRIX_H
#define MIOPY_MATRIX_H
#include "../pool/pool.h"
#include <stdint.h>

/* One side of a product, (M, K) or (K, N): element k of row or column i is i * across + k * along
 * elements from `at`. If `index` is given, what belongs to k is that of index[k] instead, or for
 * negative values that of -1 - index[k] in `other`, which is zero if NULL. */
typedef struct {
    const void *at, *other;
    int64_t across, along, other_along;
    const int64_t *index;
} operand;

/* Sums of elements of a, whose rows are a_row apart.
 *   column_sums   out[n] = sum over m of a[m * a_row + n], in order of m; += with `accumulate`; the
 *                 same to also_out, if not NULL
 *   plane_sums    out[m * out_row + n] = sum over p < count of a[m * a_row + planes[p] + n] */
typedef struct {
    int storage, accumulate;
    void *out, *also_out;
    const void *a;
    int64_t M, N, out_row, a_row;
    const int64_t *planes;
    int64_t count;
} sums_call;

void column_sums(pool *p, const sums_call *call);
void plane_sums(pool *p, const sums_call *call);

/* c (M, N) = a (M, K) b (K, N), or += with `accumulate`; strides in elements of `storage`, the
 * columns of c are adjacent. How a sum is ordered depends on shape, strides and, on a matrix unit,
 * values, never on the number of threads. */
typedef struct gemm_call {
    int storage, c_storage, accumulate; /* c_storage: storage, or the real type */
    int64_t M, N, K;
    operand a, b;
    void *c;
    int64_t c_row;
    const struct gemm_call *also; /* another product of the same a, types and `accumulate`; NULL */
    const sums_call *sums;        /* column sums of the transpose of a, of the first; or NULL */
} gemm_call;

int64_t gemm_scratch(const pool *p, const gemm_call *call);
void gemm(pool *p, const gemm_call *call, void *scratch);
#endif
