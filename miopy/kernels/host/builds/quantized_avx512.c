#if defined(__x86_64__)
#include "target_avx512.h"
#define NAME quantized_avx512
#define VL 16
#include "../quantized/quantized.inc"
#endif
