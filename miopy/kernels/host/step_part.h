/* step_part.h: what of a step is a worker's own, in each of its products and kernels. It need meet
 * no other worker to read again what it has written there. */
#ifndef MIOPY_STEP_PART_H
#define MIOPY_STEP_PART_H
#include "workers.h"

enum { UNITS_TOGETHER = 16 }; /* whole vectors of every build */

/* Rows [b0, b1), as far as there are so many; its share of units, or all where it shares none. */
typedef struct {
    worker w;
    int64_t b0, b1;
    int shares_units;
} step_part;

/* Rows [b0, b1) and units [u0, u1). */
typedef struct {
    int64_t b0, b1, u0, u1;
} step_range;

/* A worker's part of so many rows and units. */
static inline step_range range_of(const step_part *part, int64_t rows, int64_t units)
{
    const int64_t groups = (units + UNITS_TOGETHER - 1) / UNITS_TOGETHER;
    const int rank = part->w.rank, threads = part->w.threads;
    step_range r = {part->b0, part->b1 < rows ? part->b1 : rows, 0, units};
    if (part->shares_units) {
        r.u0 = groups * rank / threads * UNITS_TOGETHER;
        r.u1 = groups * (rank + 1) / threads * UNITS_TOGETHER;
    }
    r.b1 = r.b1 > r.b0 ? r.b1 : r.b0;
    r.u1 = r.u1 < units ? r.u1 : units;
    return r;
}
#endif
