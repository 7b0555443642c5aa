/* Pairs of bfloat16, whose products run on the matrix unit. */
#include "../matrix_unit.h"
#if defined(HAS_MATRIX_UNIT)
#include "target_amx.h"
#define NAME amx_bf16
#define PAIRS
#include "avx512_float.inc"
#endif
