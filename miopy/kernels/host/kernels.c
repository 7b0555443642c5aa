/* kernels.c: chooses the kernels for a pool and a storage type, and runs them. */
#include "kernels.h"
#include "../target.h"

/* For floats, doubles and bfloat16. */
static const kernel_table *const builds[][3] = {
#if defined(HAS_MATRIX_UNIT)
    [AMX_BUILD] = {&amx_float, &avx512_double, &amx_bf16},
#endif
#if defined(HAS_PAIRS)
    [PAIRS_BUILD] = {&avx512_float, &avx512_double, &avx512_bf16},
#endif
#if defined(__x86_64__)
    [AVX512_BUILD] = {&avx512_float, &avx512_double, &avx512_float},
    [AVX2_BUILD] = {&avx2_float, &avx2_double, &avx2_float},
#endif
    [BASE_BUILD] = {&base_float, &base_double, &base_float}};

int has_build(int build)
{
    if (build < 0 || build > BASE_BUILD || !builds[build][0])
        return 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (build == AMX_BUILD && !may_use_matrix_unit())
        return 0;
    if (build <= PAIRS_BUILD && !has_pairs())
        return 0;
    if (build <= AVX512_BUILD)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (build == AVX2_BUILD)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_halves();
#endif
    return 1;
}

/* On Intel's cores a vector of dot products of pairs takes as long as four of multiply-adds: 1.6
 * against 6.6 per nanosecond on Emerald Rapids. */
static int has_slow_pairs(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("intel");
#else
    return 0;
#endif
}

int fastest_build(void)
{
    int build = AMX_BUILD;
    while (!has_build(build) || (build == PAIRS_BUILD && has_slow_pairs()))
        build++;
    return build;
}

const kernel_table *kernels_for(const pool *p, int storage)
{
    return builds[pool_build(p)][storage == F64 ? 1 : storage == BF16 ? 2 : 0];
}

typedef struct {
    const kernel_table *kernels;
    const void *call;
    void *scratch;
} job;

static void run_gemm(void *arg, worker w)
{
    const job *j = arg;
    j->kernels->gemm(j->call, j->scratch, w);
}

static void run_column_sums(void *arg, worker w)
{
    const job *j = arg;
    j->kernels->column_sums(j->call, w);
}

static void run_plane_sums(void *arg, worker w)
{
    const job *j = arg;
    j->kernels->plane_sums(j->call, w);
}

int64_t gemm_scratch(const pool *p, const gemm_call *call)
{
    return kernels_for(p, call->storage)->gemm_scratch(call, pool_threads(p));
}

void gemm(pool *p, const gemm_call *call, void *scratch)
{
    job j = {kernels_for(p, call->storage), call, scratch};
    int64_t columns = 0;
    for (const gemm_call *each = call; each; each = each->also)
        columns += each->N;
    const int64_t numbers = call->M * columns + (call->M + columns) * call->K;
    const effort e = {MOST(call->M * columns * call->K, READING * numbers)};
    pool_run(p, e, run_gemm, &j);
}

void column_sums(pool *p, const sums_call *call)
{
    job j = {kernels_for(p, call->storage), call, 0};
    pool_run(p, (effort){READING * call->M * call->N}, run_column_sums, &j);
}

void plane_sums(pool *p, const sums_call *call)
{
    job j = {kernels_for(p, call->storage), call, 0};
    pool_run(p, (effort){READING * call->M * call->N * call->count}, run_plane_sums, &j);
}
