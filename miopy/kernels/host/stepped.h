#ifndef MIOPY_HOST_STEPPED_H
#define MIOPY_HOST_STEPPED_H
#include "pool.h"
#include <stdint.h>

/* The host as a device of kernels/stepped: what `launch`, `gemm` and `blas` are there. */
typedef struct {
    pool *pool;
    void *scratch; /* of gemm; stepped_scratch bytes for the largest product */
    int64_t nbytes;
} host_blas;

/* load_states, store_states, project_forward, project_backward, mask_states, mask_products of a
 * storage type, by number in this order. */
void *stepped_function(int storage, int number);

/* pointwise_forward, pointwise_backward, operand_forward, operand_backward of a cell, which is
 * numbered as in core/cells.py; NULL for what it has not. */
void *stepped_cell_function(int cell, int storage, int number);

/* Addresses of a launch_function and of a gemm_function, whose types are storage numbers, whose op
 * is 1 to transpose, and whose blas is a host_blas. */
void *stepped_launch(void);
void *stepped_gemm(void);
int64_t stepped_scratch(const pool *p, int storage, int64_t M, int64_t N, int64_t K);
#endif
