#define STORAGE F64
#include "../stepped/stepped.inc"
