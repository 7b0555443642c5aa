#define STORAGE F64
#include "stepped.inc"
