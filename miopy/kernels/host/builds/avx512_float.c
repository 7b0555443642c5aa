#if defined(__x86_64__)
#include "target_avx512.h"
#define NAME avx512_float
#include "avx512_float.inc"
#endif
