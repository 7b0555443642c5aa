#define STORAGE F32
#include "stepped.inc"
