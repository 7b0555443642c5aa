/* 16 registers: 12 sums, a vector of weights, 3 broadcasts. */
#if defined(__x86_64__)
#include "target_avx2.h"
#define NAME avx2_float
#define REAL_IS_DOUBLE 0
#define VL 8
#define MR1 8
#define MR2 6
#define MR3 4
#define MR4 3
#include "build.inc"
#endif
