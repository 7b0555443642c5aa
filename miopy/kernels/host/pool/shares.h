/* shares.h: kernels as jobs of a pool. What is included behind this runs its elements on the
 * workers of a job, each doing its share. */
#ifndef MIOPY_SHARES_H
#define MIOPY_SHARES_H

#include "../../target.h"
#include "workers.h"

/* The worker that this thread is in the kernel it runs. */
static _Thread_local worker here;

/* The first of a worker's share of n elements; of the next worker, where it ends. */
static inline int64_t share_of(int64_t n, int rank)
{
    int64_t first, end;
    share(n, rank, here.threads, &first, &end);
    return first;
}

#undef KERNEL
#define KERNEL static __attribute__((unused)) void
#undef EACH
#define EACH(i, n) \
    for (int64_t i = share_of(n, here.rank), end_##i = share_of(n, here.rank + 1); i < end_##i; i++)

/* run_kernel, a job whose argument is that of a launch. */
#define JOB(kernel, type)                               \
    static void run_##kernel(void *arguments, worker w) \
    {                                                   \
        here = w;                                       \
        kernel(**(type **)arguments);                   \
    }

#endif
