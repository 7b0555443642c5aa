/* 32 registers: 24 sums, 4 vectors of weights, a broadcast. */
#if defined(__x86_64__)
#include "target_avx512.h"
#define NAME avx512_double
#define REAL_IS_DOUBLE 1
#define VL 8
#define MR1 8
#define MR2 8
#define MR3 8
#define MR4 6
#include "build.inc"
#endif
