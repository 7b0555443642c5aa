#ifndef MIOPY_PROGRAM_H
#define MIOPY_PROGRAM_H
#include "pool/pool.h"
#include <stdint.h>

/* The functions that take a struct of arguments: of recurrence.h, matrix.h, rows.h, tensor.h and
 * stepped.h. */
enum operation {
    RECURRENCE_FORWARD,
    RECURRENCE_BACKWARD,
    GEMM,
    COLUMN_SUMS,
    PLANE_SUMS,
    GATHER_ROWS,
    SCATTER_ROWS,
    FILL_ITEMS,
    COPY_BYTES,
    CONVERT,
    TRANSFORM,
    COMBINE,
    STEPS
};

/* Bytes of scratch, aligned to 64 bytes, that an operation needs on a pool. */
int64_t operation_scratch(const pool *p, int operation, const void *arguments);
/* 0, or the error of steps. */
int run_operation(pool *p, int operation, const void *arguments, void *scratch);

/* Operations one after the other, on memory that is only known when they run. A pointer among their
 * arguments that moves is described by the number of what it belongs to, from BASE_SHIFT bits on,
 * and by how far behind its start it is: no address is longer. From 1 on come the arguments of who
 * runs them, then scratch of all operations. */
enum { BASE_SHIFT = 56 };
typedef struct {
    int64_t num_operations, num_pointers, num_arguments;
    const int *operations;
    void *const *arguments; /* (num_operations) */
    void *const *pointers;  /* (num_pointers) where they are among the arguments */
    const uint64_t *places; /* (num_pointers) what describes them */
} program;

/* addresses (num_arguments). The pointers change: a program runs once at a time. Answers the first
 * error. */
int run_program(pool *p, const program *g, const uint64_t *addresses, uint64_t scratch);
#endif
