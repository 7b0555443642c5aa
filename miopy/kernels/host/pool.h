#ifndef MIOPY_POOL_H
#define MIOPY_POOL_H
/* Worker threads of one backend instance. The caller of a job is worker 0; the others spin briefly
 * for the next job and then sleep. After a fork the child starts its own. */
typedef struct pool pool;

/* Whether this machine can run the kernels built for AMX (0), AVX-512 with instructions for
 * bfloat16 (1), AVX-512 (2), AVX2 (3) or any machine of the architecture (4). */
int has_build(int build);
/* A pool of `threads` workers, the caller included, for kernels of such a build; NULL if memory is
 * short. It runs one job at a time, which its users see to. */
pool *pool_create(int threads, int build);
/* Ends the workers; no job may be running. NULL is accepted. */
void pool_destroy(pool *p);
int pool_threads(const pool *p);
#endif
