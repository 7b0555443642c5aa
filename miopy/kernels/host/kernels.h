/* kernels.h: what each build of the kernels (instruction set x real type) offers. */
#ifndef MIOPY_KERNELS_H
#define MIOPY_KERNELS_H

#include "products/matrix.h"
#include "matrix_unit.h"
#include "recurrence/recurrence.h"
#include "stepped/step_part.h"

#define CEIL(a, b) (((a) + (b) - 1) / (b))
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))

enum { MOST_CELLS = 16 };
enum { READING = 4 }; /* multiply-adds that take as long as reading a number */

/* Columns of the input matrix; sequences of the first step. 0 where there is none. */
static inline int64_t inputs_of(const rnn_layer *l) { return l->input ? l->input_size : 0; }
static inline int64_t first_sequences(const rnn_layer *l)
{
    return l->steps ? l->batch_sizes[0] : 0;
}

/* Whether there are sequences enough, in so many rows of all steps, for each worker to have some of
 * its own. */
static inline int suffice_for_workers(int64_t rows, int64_t steps, int threads)
{
    return rows && rows >= 2 * threads * steps;
}

/* The functions run on every worker of a job; *_scratch answers bytes for that many threads. */
typedef struct {
    int gates[MOST_CELLS]; /* of each cell */
    int64_t (*forward_scratch)(const forward_pass *, int threads, pass_stage);
    int (*reads_by_step)(const forward_pass *); /* whether one worker reads x of a step only then */
    void (*forward)(const forward_pass *, void *scratch, worker);
    int64_t (*backward_scratch)(const backward_pass *, int threads);
    void (*backward)(const backward_pass *, void *scratch, worker);
    int64_t (*gemm_scratch)(const gemm_call *, int threads);
    void (*gemm)(const gemm_call *, void *scratch, worker);
    int (*broadcasts)(const gemm_call *); /* whether it broadcasts b, where that lies, to rows */
    /* Of a matrix b that is packed once, its panels, for products of a few rows each: their bytes,
     * a worker's part of packing them, scratch of such a product, and a worker's part of it. */
    int64_t (*panels_nbytes)(const gemm_call *, int threads);
    void (*pack_panels)(const gemm_call *, void *panels, worker);
    int64_t (*panel_scratch)(const gemm_call *, int threads);
    void (*panel_product)(const gemm_call *, const void *panels, void *scratch, const step_part *);
    void (*column_sums)(const sums_call *, worker);
    void (*plane_sums)(const sums_call *, worker);
} kernel_table;

const kernel_table *kernels_for(const pool *p, int storage);

extern const kernel_table amx_float, amx_bf16, avx512_bf16, avx512_float, avx512_double, avx2_float,
    avx2_double, base_float, base_double;

#endif
