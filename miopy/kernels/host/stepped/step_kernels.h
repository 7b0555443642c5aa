/* What each build of the kernels of single steps (instruction set x real type) offers. */
#ifndef MIOPY_STEP_KERNELS_H
#define MIOPY_STEP_KERNELS_H
#include "../kernels.h"

/* A worker's part of what a kernel of kernels/pointwise.c, operand.c or project.c does, given a
 * launch's arguments, on elements of a storage type. */
typedef void step_kernel(void **arguments, int storage, const step_part *part);

/* project_forward and project_backward; and of each cell pointwise_forward, pointwise_backward, and
 * operand_forward, operand_backward, NULL without a late gate. */
typedef struct {
    step_kernel *projects[2], *cells[MOST_CELLS][4];
} step_table;

extern const step_table avx512_float_steps, avx512_double_steps, avx2_float_steps,
    avx2_double_steps, base_float_steps, base_double_steps;
#endif
