/* step_part.h: a worker's part of each product and kernel of a step: the rows of its own sequences,
 * the same in every step, which it writes and reads without meeting the others; or a share of
 * whatever there is. */
#ifndef MIOPY_STEP_PART_H
#define MIOPY_STEP_PART_H
#include "../pool/workers.h"

typedef struct {
    worker w;
    int64_t batch; /* rows of which each worker has its own, the sequences of a step; 0: none do */
} step_part;

/* Rows of its own sequences, of so many rows. */
static inline void own_rows(const step_part *part, int64_t rows, int64_t *first, int64_t *end)
{
    share(part->batch, part->w.rank, part->w.threads, first, end);
    *first = *first < rows ? *first : rows;
    *end = *end < rows ? *end : rows;
}
#endif
