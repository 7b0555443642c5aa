/* quantized.c: chooses the kernels on 8-bit codes for a pool, and runs them as launches. */
#include "quantized.h"

/* Codes are defined in two roundings: no multiply-add. */
#if !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#endif

#include "quantized_jobs.h"
#include "../pool/shares.h"

#define STORAGE F32
#include "../../math.h"
#include "../../quantized.c"

JOB(copy_codes_f32, code_copy)
JOB(copy_weights_f32, weight_copy)
JOB(sum_codes_f32, code_sums)
JOB(join_codes_f32, joined_codes)

static const quantized_jobs *jobs_of(const pool *p)
{
#if defined(__x86_64__)
    if (pool_build(p) <= AVX512_BUILD)
        return &quantized_avx512;
    if (pool_build(p) == AVX2_BUILD)
        return &quantized_avx2;
#endif
    return &quantized_base;
}

void *quantized_function(const pool *p, int number)
{
    const quantized_jobs *own = jobs_of(p);
    quantized_job *const jobs[] = {
        run_copy_codes_f32, run_copy_weights_f32, run_sum_codes_f32, own->multiply,
        own->lstm,          own->gru_operand,     own->gru,          own->project,
        run_join_codes_f32,
    };
    return (void *)jobs[number];
}

/* Multiply-adds that take as long as an element: of integers, and of floats, which jobs count in.
 */
enum { LIKE_AN_ELEMENT = 256, FLOATS_LIKE_IT = 1000 };

static int launch(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                  unsigned int block_x, unsigned int block_y, unsigned int block_z,
                  unsigned int shared_nbytes, void *stream, void **arguments, void **extra)
{
    quantized_job *const job = (quantized_job *)function;
    const integer_product *s = *(const integer_product **)arguments;
    const int64_t elements = job == jobs_of(stream)->multiply ? s->M * s->N * s->K / LIKE_AN_ELEMENT
                                                              : (int64_t)grid_x * block_x;
    (void)grid_y, (void)grid_z, (void)block_y, (void)block_z, (void)shared_nbytes, (void)extra;
    pool_run(stream, (effort){elements * FLOATS_LIKE_IT}, job, arguments);
    return 0;
}

void *quantized_launch(void) { return (void *)launch; }
