/* kernels.c: chooses the build for this machine and runs it on a pool. */
#include "kernels.h"
#include "../target.h"
#include <stdlib.h>

/* MIOPY_ISA=avx512|avx2|base asks for a build; one the machine cannot run is not taken. */
static int may_use(const char *name, int has)
{
    const char *wanted = getenv("MIOPY_ISA");
    return has && (!wanted || !*wanted || !strcmp(wanted, name));
}

const kernel_table *kernels_for(int storage)
{
    const int wide = storage == F64;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (may_use("avx512", __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                              __builtin_cpu_supports("avx512dq") &&
                              __builtin_cpu_supports("avx512bw")))
        return wide ? &avx512_double : &avx512_float;
    if (may_use("avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")))
        return wide ? &avx2_double : &avx2_float;
#endif
    return wide ? &base_double : &base_float;
}

typedef struct {
    const kernel_table *kernels;
    const void *call;
    void *scratch;
} job;

static void run_forward(void *arg, worker w)
{
    const job *j = arg;
    j->kernels->forward(j->call, j->scratch, w);
}

static void run_backward(void *arg, worker w)
{
    const job *j = arg;
    j->kernels->backward(j->call, j->scratch, w);
}

static void run_gemm(void *arg, worker w)
{
    const job *j = arg;
    j->kernels->gemm(j->call, j->scratch, w);
}

int64_t forward_scratch(const pool *p, const forward_pass *pass)
{
    return kernels_for(pass->layer.storage)->forward_scratch(pass, pool_threads(p));
}

int64_t backward_scratch(const pool *p, const backward_pass *pass)
{
    return kernels_for(pass->layer.storage)->backward_scratch(pass, pool_threads(p));
}

int64_t gemm_scratch(const pool *p, const gemm_call *call)
{
    return kernels_for(call->storage)->gemm_scratch(call, pool_threads(p));
}

void recurrence_forward(pool *p, const forward_pass *pass, void *scratch)
{
    job j = {kernels_for(pass->layer.storage), pass, scratch};
    pool_run(p, run_forward, &j);
}

void recurrence_backward(pool *p, const backward_pass *pass, void *scratch)
{
    job j = {kernels_for(pass->layer.storage), pass, scratch};
    pool_run(p, run_backward, &j);
}

void gemm(pool *p, const gemm_call *call, void *scratch)
{
    job j = {kernels_for(call->storage), call, scratch};
    pool_run(p, run_gemm, &j);
}

static void run_column_sums(void *arg, worker w)
{
    const sums_call *c = arg;
    kernels_for(c->storage)->column_sums(c, w);
}

static void run_plane_sums(void *arg, worker w)
{
    const sums_call *c = arg;
    kernels_for(c->storage)->plane_sums(c, w);
}

void column_sums(pool *p, int storage, void *sums, const void *a, int64_t M, int64_t N,
                 int64_t a_row)
{
    sums_call c = {.storage = storage, .out = sums, .a = a, .M = M, .N = N, .a_row = a_row};
    pool_run(p, run_column_sums, &c);
}

void plane_sums(pool *p, int storage, void *out, int64_t out_row, const void *a, int64_t a_row,
                int64_t M, int64_t N, const int64_t *planes, int64_t count)
{
    sums_call c = {storage, out, a, M, N, out_row, a_row, planes, count};
    pool_run(p, run_plane_sums, &c);
}
