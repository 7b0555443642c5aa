/* stepped.c: the host as a device of kernels/stepped. A launch is a call, a product is gemm. */
#include "stepped.h"

#include "../target.h"
#include "matrix.h"

#include "stepped_cells.inc"

extern void *const stepped_kernels_f32[],
    *const stepped_kernels_f16[], *const stepped_kernels_bf16[], *const stepped_kernels_f64[];

#define DECLARED(cell)                                    \
    extern void *const cell##_f32[], *const cell##_f16[]; \
    extern void *const cell##_bf16[], *const cell##_f64[];
EACH_STEPPED_CELL(DECLARED)

enum { TOO_LITTLE_SCRATCH = 1 };

void *stepped_function(int storage, int number)
{
    static void *const *const kernels[] = {
        [F32] = stepped_kernels_f32,
        [F16] = stepped_kernels_f16,
        [BF16] = stepped_kernels_bf16,
        [F64] = stepped_kernels_f64,
    };
    return kernels[storage][number];
}

#define TABLES(cell) \
    {[F32] = cell##_f32, [F16] = cell##_f16, [BF16] = cell##_bf16, [F64] = cell##_f64},

void *stepped_cell_function(int cell, int storage, int number)
{
    static void *const *const kernels[][4] = {EACH_STEPPED_CELL(TABLES)};
    return kernels[cell][storage][number];
}

static int launch(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                  unsigned int block_x, unsigned int block_y, unsigned int block_z,
                  unsigned int shared_nbytes, void *stream, void **arguments, void **extra)
{
    (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
    (void)shared_nbytes, (void)stream, (void)extra;
    ((void (*)(void **))function)(arguments); /* its loop strides over everything */
    return 0;
}

void *stepped_launch(void) { return (void *)launch; }

static gemm_call product_of(int storage, int c_storage, int64_t M, int64_t N, int64_t K)
{
    return (gemm_call){.storage = storage, .c_storage = c_storage, .M = M, .N = N, .K = K};
}

int64_t stepped_scratch(const pool *p, int storage, int64_t M, int64_t N, int64_t K)
{
    gemm_call call = product_of(storage, storage == F64 ? F64 : F32, M, N, K);
    call.a.along = call.b.along = 1; /* which takes most */
    return gemm_scratch(p, &call);
}

/* By columns C = op(A) op(B) is by rows C' = op(B)' op(A)'. */
static int multiply(void *blas, int op_a, int op_b, int m, int n, int k, const void *alpha,
                    const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                    const void *beta, void *c, int c_type, int ldc, int compute, int algorithm)
{
    host_blas *host = blas;
    gemm_call call = product_of(a_type, c_type, n, m, k);
    (void)alpha, (void)b_type, (void)compute, (void)algorithm; /* 1, a_type, and no choice */
    call.accumulate = a_type == F64 ? *(const double *)beta != 0 : *(const float *)beta != 0;
    call.a = (operand){.at = b, .across = op_b ? 1 : ldb, .along = op_b ? ldb : 1};
    call.b = (operand){.at = a, .across = op_a ? lda : 1, .along = op_a ? 1 : lda};
    call.c = c, call.c_row = ldc;
    if (gemm_scratch(host->pool, &call) > host->nbytes)
        return TOO_LITTLE_SCRATCH;
    gemm(host->pool, &call, host->scratch);
    return 0;
}

void *stepped_gemm(void) { return (void *)multiply; }
