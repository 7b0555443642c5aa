/* workers.h: what kernels use of a pool. */
#ifndef MIOPY_WORKERS_H
#define MIOPY_WORKERS_H

#include "pool.h"
#include <stdint.h>

/* Of two layers that run side by side, the one whose steps the other waits for, and that one. */
typedef enum { UNSTAGED, FEEDS, FOLLOWS } pass_stage;

/* Each worker of a job gets its rank in [0, threads). Scratch is for `most`: fewer may run. */
typedef struct {
    pool *pool;
    int rank, threads, most;
    pass_stage stage;
} worker;

/* Worker `rank` of so many gets [*low, *high) of `count` items. */
static inline void share(int64_t count, int rank, int threads, int64_t *low, int64_t *high)
{
    *low = count * rank / threads;
    *high = count * (rank + 1) / threads;
}

/* As given to pool_create. */
int pool_build(const pool *p);

/* Bytes of a core's second-level cache, or what is usual, and of the third-level one, or 0, if the
 * system does not tell. */
int64_t pool_second_level(const pool *p);
int64_t pool_third_level(const pool *p);

/* What a job takes, in multiply-adds: all of it, and, if its workers meet step by step and this may
 * be little for each, a step; else 0. */
typedef struct {
    int64_t all, step;
} effort;

/* Runs job(arg) on every worker, or on the caller alone where it repays neither waking threads nor
 * sharing with those awake; returns when all are done. */
void pool_run(pool *p, effort e, void (*job)(void *arg, worker w), void *arg);

/* Whether a job is worth sharing with threads that are awake. */
int repays_sharing(const pool *p, effort e);

/* Waits until every worker of the job is here. */
void meet(worker w);

/* A worker that FEEDS another tells how many steps it has done; one that FOLLOWS waits until so
 * many are. */
void tell_steps(worker w, int64_t steps);
void await_steps(worker w, int64_t steps);

/* For loops that wait for another worker, which may want this very processor. */
void yield_processor(void);

#endif
