/* As for AVX-512; products of bfloat16 take pairs. */
#include "matrix_unit.h"
#if defined(HAS_PAIRS)
#include "target_avx512_bf16.h"
#define NAME avx512_bf16
#define PAIRS
#define REAL_IS_DOUBLE 0
#define VL 16
#define MR1 8
#define MR2 8
#define MR3 8
#define MR4 6
#include "build.inc"
#endif
