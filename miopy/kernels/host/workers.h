/* workers.h: what kernels use of a pool. */
#ifndef MIOPY_WORKERS_H
#define MIOPY_WORKERS_H

#include "pool.h"

/* Each worker of a job gets its rank in [0, threads). */
typedef struct {
    pool *pool;
    int rank, threads;
} worker;

/* Runs job(arg) on every worker; returns when all are done. One job runs at a time. */
void pool_run(pool *p, void (*job)(void *arg, worker w), void *arg);

/* Waits for the workers of `team`, `size` of them. */
void team_barrier(worker w, int team, int size);

#endif
