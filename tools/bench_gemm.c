/* Nanoseconds of a thread that the host's product and a BLAS take for one product, in turn. */

#define _POSIX_C_SOURCE 200809L

#include "matrix.h"
#include <time.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

typedef void own_product(pool *, const gemm_call *, void *scratch);

/* The functions of CBLAS with 64-bit sizes. */
typedef struct {
    void (*sgemm)(int, int, int, int64_t, int64_t, int64_t, float, const void *, int64_t,
                  const void *, int64_t, float, void *, int64_t);
    void (*sgemv)(int, int, int64_t, int64_t, float, const void *, int64_t, const void *, int64_t,
                  float, void *, int64_t);
    void (*dgemm)(int, int, int, int64_t, int64_t, int64_t, double, const void *, int64_t,
                  const void *, int64_t, double, void *, int64_t);
    void (*dgemv)(int, int, int64_t, int64_t, double, const void *, int64_t, const void *, int64_t,
                  double, void *, int64_t);
} blas;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* As NumPy calls it: a product with one row or column is one of a matrix and a vector. */
static void multiply(const blas *b, const gemm_call *g, int is_double)
{
    const int ta = g->a.along == 1 ? PLAIN : TRANSPOSED, tb = g->b.across == 1 ? PLAIN : TRANSPOSED;
    const int64_t lda = ta == PLAIN ? most(g->a.across, g->K) : g->a.along;
    const int64_t ldb = tb == PLAIN ? most(g->b.along, g->N) : g->b.across;
    if (g->N == 1 || g->M == 1) {
        const int of_a = g->N == 1, transposed = of_a ? ta == TRANSPOSED : tb == PLAIN;
        const int64_t rows = of_a ? g->M : g->N, ld = of_a ? lda : ldb;
        const int64_t m = transposed ? g->K : rows, n = transposed ? rows : g->K;
        const void *matrix = of_a ? g->a.at : g->b.at, *vector = of_a ? g->b.at : g->a.at;
        const int64_t step = of_a ? g->b.along : g->a.along, c_step = of_a ? g->c_row : 1;
        const int kind = transposed ? TRANSPOSED : PLAIN;
        if (is_double)
            b->dgemv(ROW_MAJOR, kind, m, n, 1, matrix, ld, vector, step, 0, g->c, c_step);
        else
            b->sgemv(ROW_MAJOR, kind, m, n, 1, matrix, ld, vector, step, 0, g->c, c_step);
    } else if (is_double) {
        b->dgemm(ROW_MAJOR, ta, tb, g->M, g->N, g->K, 1, g->a.at, lda, g->b.at, ldb, 0, g->c,
                 g->c_row);
    } else {
        b->sgemm(ROW_MAJOR, ta, tb, g->M, g->N, g->K, 1, g->a.at, lda, g->b.at, ldb, 0, g->c,
                 g->c_row);
    }
}

/* ours and theirs (rounds): nanoseconds of `calls` calls, one round of each in turn. */
void compare(own_product *own, pool *p, const gemm_call *g, void *scratch, const blas *b,
             int is_double, int rounds, int calls, int64_t *ours, int64_t *theirs)
{
    for (int round = 0; round < rounds; round++) {
        int64_t start = now();
        for (int call = 0; call < calls; call++)
            own(p, g, scratch);
        ours[round] = now() - start;
        start = now();
        for (int call = 0; call < calls; call++)
            multiply(b, g, is_double);
        theirs[round] = now() - start;
    }
}
