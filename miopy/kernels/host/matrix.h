#ifndef MIOPY_MATRIX_H
#define MIOPY_MATRIX_H
#include "pool.h"
#include <stdint.h>

/* c (M, N) = a (M, K) b (K, N), or += with `accumulate`; strides in elements of `storage`, the
 * columns of c are adjacent. If `index` is given, row k of b is row index[k] of `b`, or for
 * negative values row -1 - index[k] of `b_other`, whose rows are b_other_row apart and which is
 * zero if NULL. Sums run over k in order, whatever the number of threads. */
typedef struct {
    int storage, c_storage, accumulate; /* c_storage: storage, or the real type */
    int64_t M, N, K;
    const void *a, *b, *b_other;
    void *c;
    int64_t a_row, a_column, b_row, b_column, b_other_row, c_row;
    const int64_t *index;
} gemm_call;

int64_t gemm_scratch(const pool *p, const gemm_call *call);
void gemm(pool *p, const gemm_call *call, void *scratch);

/* sums[n] = sum over m of a[m * a_row + n], in order of m; += with `accumulate`. */
void column_sums(pool *p, int storage, int accumulate, void *sums, const void *a, int64_t M,
                 int64_t N, int64_t a_row);

/* out[m * out_row + n] = sum over p of a[m * a_row + planes[p] + n]. */
void plane_sums(pool *p, int storage, void *out, int64_t out_row, const void *a, int64_t a_row,
                int64_t M, int64_t N, const int64_t *planes, int64_t count);
#endif
