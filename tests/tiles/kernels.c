/* The host's kernels with the build for AMX alone: tiles.h stands in for the unit. */
#define has_build runs_build
#include "../../miopy/kernels/host/kernels.c"
#undef has_build
#include "../../miopy/kernels/host/quantized/quantized_jobs.h"
#include "../../miopy/kernels/host/stepped/step_kernels.h"

int may_use_matrix_unit(void) { return 1; }
int has_pairs(void) { return 1; }
int has_halves(void) { return 1; }
int has_build(int build) { return build == AMX_BUILD && runs_build(AMX_BUILD); }

/* What is missing: other builds, double, codes, and cells that run step by step. */
const kernel_table avx512_bf16, avx512_float, avx512_double, avx2_float, avx2_double, base_float,
    base_double;
const quantized_jobs quantized_avx512, quantized_avx2, quantized_base;

const step_table avx512_float_steps, avx512_double_steps, avx2_float_steps, avx2_double_steps,
    base_float_steps, base_double_steps;
void (*const stepped_kernels_f32[1])(void **, worker),
    (*const stepped_kernels_f16[1])(void **, worker),
    (*const stepped_kernels_bf16[1])(void **, worker),
    (*const stepped_kernels_f64[1])(void **, worker);
