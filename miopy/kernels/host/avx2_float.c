/* 16 registers: 12 sums, a vector of weights, 3 broadcasts. */
#if defined(__x86_64__)
#include "target_avx2.h"
#define NAME avx2_float
#define REAL_IS_DOUBLE 0
#define VL 8
#define MR 3
#define MR3 4
#include "build.inc"
#endif
