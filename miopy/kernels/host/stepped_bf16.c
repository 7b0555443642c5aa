#define STORAGE BF16
#include "stepped.inc"
