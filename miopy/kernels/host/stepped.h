#ifndef MIOPY_STEPPED_H
#define MIOPY_STEPPED_H
#include "pool.h"
#include <stdint.h>

/* What the host is given to run a layer as a device of kernels/stepped. */
typedef struct {
    pool *pool;
    int64_t rows, steps, batch; /* of the layer: each matrix meets all rows, in so many parts, the
                                   first or last of which has `batch` */
    int64_t row_work;           /* of a row, in multiply-adds */
    int64_t step_matrices;      /* how many of the layer's matrices each step reads: the first */
    void *scratch;
    int64_t products_nbytes, panels_nbytes; /* of scratch: for a product, and behind it */
    int64_t own_nbytes;                     /* of the former, for a worker's own product */
    int owns_sequences;                     /* whether workers do */
} host_device;

/* Kernels of a storage type, as `launch` takes them: load_states, store_states, mask_states,
 * mask_products, project_forward, project_backward, by number in this order. */
void *stepped_function(int storage, int number);

/* pointwise_forward, pointwise_backward, operand_forward, operand_backward of a cell, which is
 * numbered as in core/cells.py; NULL for what it has not. */
void *stepped_cell_function(int cell, int storage, int number);

/* Sets what scratch needs, in bytes, for a layer whose rows are multiplied by so many matrices,
 * (N, K) each, of a storage type; answers the sum. */
int64_t stepped_scratch(host_device *host, int storage, int64_t count, const int64_t *matrices);

/* A function of kernels/stepped/steps.h, what it asks of a device's besides, and its runs: they are
 * of this library's neighbour. */
typedef struct {
    host_device host;
    void *function;
    const void *calls;
    void *runs;
    int count;
} stepped_call;

/* Runs it on every worker of the pool: launches and products are shared by all. What it answers:
 * 0, or an error. */
int stepped_run(const stepped_call *call);
#endif
