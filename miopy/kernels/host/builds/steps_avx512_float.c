#if defined(__x86_64__)
#include "target_avx512.h"
#define NAME avx512_float_steps
#define REAL_IS_DOUBLE 0
#define VL 16
#include "../stepped/steps.inc"
#endif
