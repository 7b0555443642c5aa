#if defined(__x86_64__)
#include "target_avx2.h"
#define NAME avx2_float_steps
#define REAL_IS_DOUBLE 0
#define VL 8
#include "../stepped/steps.inc"
#endif
