#define NAME quantized_base
#define VL 4
#include "../quantized/quantized.inc"
