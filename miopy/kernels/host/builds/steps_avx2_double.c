#if defined(__x86_64__)
#include "target_avx2.h"
#define NAME avx2_double_steps
#define REAL_IS_DOUBLE 1
#define VL 4
#include "../stepped/steps.inc"
#endif
