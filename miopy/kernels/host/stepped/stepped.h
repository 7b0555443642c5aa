#ifndef MIOPY_STEPPED_H
#define MIOPY_STEPPED_H
#include "../pool/pool.h"
#include <stdint.h>

/* What the host is given to run a layer as a device of kernels/stepped. */
typedef struct {
    pool *pool;
    /* Of the layer: each matrix meets all rows, in so many parts, the first in time, which none
     * exceeds, of `batch`. */
    int64_t rows, steps, batch;
    int64_t row_work; /* of a row, in multiply-adds */
    int is_masked;    /* whether the recurrent matrices multiply masked states */
    /* What stepped_scratch sets: bytes of scratch for a product, behind it for panels, and of the
     * former for a worker's own product; and whether workers own sequences. */
    int64_t products_nbytes, panels_nbytes, own_nbytes;
    int owns_sequences;
    void *scratch;
} host_device;

/* Kernels of a storage type, as `launch` takes them: load_states, store_states, mask_states,
 * mask_products, project_forward, project_backward, by number in this order. */
void *stepped_function(int storage, int number);

/* pointwise_forward, pointwise_backward, operand_forward, operand_backward of a cell, which is
 * numbered as in core/cells.py; NULL for what it has not. */
void *stepped_cell_function(int cell, int storage, int number);

/* Sets what scratch needs for a layer of which the rest is set, whose rows are multiplied by
 * `count` matrices, (N, K) each, of a storage type, the first of_steps of them in each step;
 * answers the bytes. */
int64_t stepped_scratch(host_device *host, int storage, int64_t count, int64_t of_steps,
                        const int64_t *matrices);

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
