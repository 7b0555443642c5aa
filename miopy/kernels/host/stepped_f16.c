#define STORAGE F16
#include "stepped.inc"
