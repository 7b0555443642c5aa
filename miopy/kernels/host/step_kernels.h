/* What each build of the kernels of single steps (instruction set x real type) offers. */
#ifndef MIOPY_STEP_KERNELS_H
#define MIOPY_STEP_KERNELS_H
#include "workers.h"

/* A worker's share of what a kernel of ../pointwise.c or ../operand.c does, given a launch's
 * arguments, on elements of a storage type. */
typedef void step_kernel(void **arguments, int storage, worker w);

/* Of a cell: pointwise_forward, pointwise_backward, and operand_forward, operand_backward, NULL
 * without a late gate. */
typedef step_kernel *const step_kernels[4];

extern step_kernels avx512_float_steps[], avx512_double_steps[], avx2_float_steps[],
    avx2_double_steps[], base_float_steps[], base_double_steps[];
#endif
