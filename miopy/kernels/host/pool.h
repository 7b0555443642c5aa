#ifndef MIOPY_POOL_H
#define MIOPY_POOL_H
/* Worker threads of one backend instance. The caller of a job is worker 0; the others spin briefly
 * for the next job and then sleep. After a fork the child starts its own. */
typedef struct pool pool;

/* A pool of `threads` workers, the caller included; NULL if memory is short. */
pool *pool_create(int threads);
/* Ends the workers; no job may be running. */
void pool_destroy(pool *p);
int pool_threads(const pool *p);
#endif
