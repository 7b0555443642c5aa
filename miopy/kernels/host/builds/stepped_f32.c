#define STORAGE F32
#include "../stepped/stepped.inc"
