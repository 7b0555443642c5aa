/* What every machine of the architecture has: SSE2, Neon, or whatever the compiler makes of it. */
#define NAME base_float
#define REAL_IS_DOUBLE 0
#define VL 4
#if defined(__aarch64__)
#define MR1 8
#define MR2 8
#define MR3 6
#define MR4 5
#else
#define MR1 8
#define MR2 4
#define MR3 3
#define MR4 2
#endif
#include "build.inc"
