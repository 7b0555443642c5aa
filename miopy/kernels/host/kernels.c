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
    char *scratch;
    int64_t each_nbytes; /* of scratch, of each of two passes that run side by side; else 0 */
} job;

/* A worker that runs a pass by itself; and whether this one runs that of the other direction. */
static worker alone(worker w) { return (worker){w.pool, 0, 1, 1}; }
static int runs_other(worker w) { return w.threads == 1 || w.rank == 1; }

static void run_forward(void *arg, worker w)
{
    const job *j = arg;
    const forward_pass *pass = j->call;
    if (!j->each_nbytes)
        j->kernels->forward(pass, j->scratch, w);
    else if (!w.rank)
        j->kernels->forward(pass, j->scratch, alone(w));
    if (j->each_nbytes && runs_other(w))
        j->kernels->forward(pass->other, j->scratch + j->each_nbytes, alone(w));
}

static void run_backward(void *arg, worker w)
{
    const job *j = arg;
    const backward_pass *pass = j->call;
    if (!j->each_nbytes)
        j->kernels->backward(pass, j->scratch, w);
    else if (!w.rank)
        j->kernels->backward(pass, j->scratch, alone(w));
    if (j->each_nbytes && runs_other(w))
        j->kernels->backward(pass->other, j->scratch + j->each_nbytes, alone(w));
}

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

enum { READING = 4 };                 /* multiply-adds that take as long as reading a number */
enum { LINE = 64 };                   /* bytes to which scratch is aligned */
enum { LEAST_SECOND_LEVEL = 262144 }; /* bytes of such a cache, where the system does not tell */

/* Of a recurrence, whose workers meet at every step unless each has sequences of its own. A step's
 * multiply-adds of one sequence take longer, as these fill the multipliers less. */
static effort effort_of(const pool *p, const kernel_table *kernels, const rnn_layer *l)
{
    const int64_t weights =
        kernels->gates[l->cell] * l->hidden_size * (inputs_of(l) + l->hidden_size);
    effort e = {weights * MOST(l->rows, READING * l->steps)};
    if (l->steps && !suffice_for_workers(l->rows, l->steps, pool_threads(p)))
        e.step = weights * l->rows / l->steps;
    if (first_sequences(l) == 1)
        e.step = e.step * 10 / 7;
    return e;
}

/* Both directions of a layer, of which a worker each runs one. */
static effort effort_of_both(effort one) { return (effort){2 * one.all}; }

/* Whether they do, meeting in no step: where one direction is not worth sharing, or where two are
 * all workers and so many recurrent matrices fit a second-level cache. */
static int are_side_by_side(const pool *p, const kernel_table *kernels, const rnn_layer *l,
                            int matrices)
{
    const effort one = effort_of(p, kernels, l);
    const int64_t numbers = kernels->gates[l->cell] * l->hidden_size * l->hidden_size;
    const int64_t nbytes = numbers * (l->storage == F64 ? sizeof(double) : sizeof(float));
    return repays_sharing(p, effort_of_both(one)) &&
           (!repays_sharing(p, one) ||
            (pool_threads(p) == 2 &&
             matrices * nbytes <= MOST(pool_second_level(p), LEAST_SECOND_LEVEL)));
}

/* Bytes of scratch of each of two passes that run side by side, else 0. A pass forward needs room
 * for more than the recurrent matrix. */
static int64_t forward_nbytes_each(const pool *p, const forward_pass *pass)
{
    const kernel_table *kernels = kernels_for(p, pass->layer.storage);
    if (!pass->other || !are_side_by_side(p, kernels, &pass->layer, 2))
        return 0;
    return CEIL(kernels->forward_scratch(pass, 1), LINE) * LINE;
}

static int64_t backward_nbytes_each(const pool *p, const backward_pass *pass)
{
    const kernel_table *kernels = kernels_for(p, pass->layer.storage);
    if (!pass->other || !are_side_by_side(p, kernels, &pass->layer, 1))
        return 0;
    return CEIL(kernels->backward_scratch(pass, 1), LINE) * LINE;
}

int64_t forward_scratch(const pool *p, const forward_pass *pass)
{
    const int64_t each = forward_nbytes_each(p, pass);
    return each ? 2 * each
                : kernels_for(p, pass->layer.storage)->forward_scratch(pass, pool_threads(p));
}

int64_t backward_scratch(const pool *p, const backward_pass *pass)
{
    const int64_t each = backward_nbytes_each(p, pass);
    return each ? 2 * each
                : kernels_for(p, pass->layer.storage)->backward_scratch(pass, pool_threads(p));
}

int64_t gemm_scratch(const pool *p, const gemm_call *call)
{
    return kernels_for(p, call->storage)->gemm_scratch(call, pool_threads(p));
}

void recurrence_forward(pool *p, const forward_pass *pass, void *scratch)
{
    job j = {kernels_for(p, pass->layer.storage), pass, scratch, forward_nbytes_each(p, pass)};
    const effort e = effort_of(p, j.kernels, &pass->layer);
    pool_run(p, j.each_nbytes ? effort_of_both(e) : e, run_forward, &j);
    if (pass->other && !j.each_nbytes) {
        j.call = pass->other;
        pool_run(p, e, run_forward, &j);
    }
}

void recurrence_backward(pool *p, const backward_pass *pass, void *scratch)
{
    job j = {kernels_for(p, pass->layer.storage), pass, scratch, backward_nbytes_each(p, pass)};
    const effort e = effort_of(p, j.kernels, &pass->layer);
    pool_run(p, j.each_nbytes ? effort_of_both(e) : e, run_backward, &j);
    if (pass->other && !j.each_nbytes) {
        j.call = pass->other;
        pool_run(p, e, run_backward, &j);
    }
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
