/* What every machine of the architecture has: SSE2, Neon, or whatever the compiler makes of it. */
#define NAME base_double
#define REAL_IS_DOUBLE 1
#define VL 2
#if defined(__aarch64__)
#define MR 5
#define MR3 6
#else
#define MR 2
#define MR3 3
#endif
#include "build.inc"
