#if defined(__x86_64__)
#include "target_avx2.h"
#define NAME quantized_avx2
#define VL 8
#include "../quantized/quantized.inc"
#endif
