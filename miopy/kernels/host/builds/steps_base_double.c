#define NAME base_double_steps
#define REAL_IS_DOUBLE 1
#define VL 2
#include "../stepped/steps.inc"
