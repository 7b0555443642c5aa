#ifndef MIOPY_POOL_H
#define MIOPY_POOL_H
/* Worker threads of one backend instance. The caller of a job is worker 0; the others spin briefly
 * for the next job and then sleep. After a fork the child starts its own. */
typedef struct pool pool;

/* Builds of the kernels: for AMX, AVX-512 with dot products of bfloat16, AVX-512, AVX2, and any
 * machine of the architecture. */
enum { AMX_BUILD, PAIRS_BUILD, AVX512_BUILD, AVX2_BUILD, BASE_BUILD };

/* Whether this machine can run one, and which is fastest here. */
int has_build(int build);
int fastest_build(void);
/* A pool of `threads` workers, the caller included, for kernels of such a build; NULL if memory is
 * short. It runs one job at a time, which its users see to. */
pool *pool_create(int threads, int build);
/* Ends the workers; no job may be running. NULL is accepted. */
void pool_destroy(pool *p);
int pool_threads(const pool *p);
#endif
