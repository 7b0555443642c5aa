#define NAME base_float_steps
#define REAL_IS_DOUBLE 0
#define VL 4
#include "../stepped/steps.inc"
