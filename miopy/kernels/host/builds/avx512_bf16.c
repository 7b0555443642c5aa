/* Pairs of bfloat16. */
#include "../matrix_unit.h"
#if defined(HAS_PAIRS)
#include "target_avx512_bf16.h"
#define NAME avx512_bf16
#define PAIRS
#include "avx512_float.inc"
#endif
