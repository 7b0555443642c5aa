/* The same; several rows run on the matrix unit. */
#include "matrix_unit.h"
#if defined(HAS_MATRIX_UNIT)
#include "target_amx.h"
#define NAME amx_bf16
#define PAIRS
#define REAL_IS_DOUBLE 0
#define VL 16
#define MR1 8
#define MR2 8
#define MR3 8
#define MR4 6
#include "build.inc"
#endif
