/* program.c: operations by number, and many of them in one call. */
#include "program.h"
#include "products/matrix.h"
#include "recurrence/recurrence.h"
#include "tensors/rows.h"
#include "stepped/stepped.h"
#include "tensors/tensor.h"
#include <string.h>

int64_t operation_scratch(const pool *p, int operation, const void *arguments)
{
    switch (operation) {
    case RECURRENCE_FORWARD: return forward_scratch(p, arguments);
    case RECURRENCE_BACKWARD: return backward_scratch(p, arguments);
    case GEMM: return gemm_scratch(p, arguments);
    }
    return 0;
}

int run_operation(pool *p, int operation, const void *arguments, void *scratch)
{
    switch (operation) {
    case RECURRENCE_FORWARD: recurrence_forward(p, arguments, scratch); break;
    case RECURRENCE_BACKWARD: recurrence_backward(p, arguments, scratch); break;
    case GEMM: gemm(p, arguments, scratch); break;
    case COLUMN_SUMS: column_sums(p, arguments); break;
    case PLANE_SUMS: plane_sums(p, arguments); break;
    case GATHER_ROWS: gather_rows(arguments); break;
    case SCATTER_ROWS: scatter_rows(arguments); break;
    case FILL_ITEMS: fill_items(arguments); break;
    case COPY_BYTES: copy_bytes(arguments); break;
    case CONVERT: convert(arguments); break;
    case TRANSFORM: transform_tensor(p, arguments); break;
    case COMBINE: combine_tensors(p, arguments); break;
    case STEPS: return stepped_run(arguments);
    }
    return 0;
}

int run_program(pool *p, const program *g, const uint64_t *addresses, uint64_t scratch)
{
    const uint64_t offset = ((uint64_t)1 << BASE_SHIFT) - 1;
    for (int64_t i = 0; i < g->num_pointers; i++) {
        const int64_t number = g->places[i] >> BASE_SHIFT;
        const uint64_t start = number > g->num_arguments ? scratch : addresses[number - 1];
        const void *address = (const void *)(uintptr_t)(start + (g->places[i] & offset));
        memcpy(g->pointers[i], &address, sizeof address);
    }
    for (int64_t i = 0; i < g->num_operations; i++) {
        const int error =
            run_operation(p, g->operations[i], g->arguments[i], (void *)(uintptr_t)scratch);
        if (error)
            return error;
    }
    return 0;
}
