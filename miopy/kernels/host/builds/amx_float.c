/* As for AVX-512; large products run on the matrix unit. */
#include "../matrix_unit.h"
#if defined(HAS_MATRIX_UNIT)
#include "target_amx.h"
#define NAME amx_float
#include "avx512_float.inc"
#endif
