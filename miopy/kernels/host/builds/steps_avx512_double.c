#if defined(__x86_64__)
#include "target_avx512.h"
#define NAME avx512_double_steps
#define REAL_IS_DOUBLE 1
#define VL 8
#include "../stepped/steps.inc"
#endif
