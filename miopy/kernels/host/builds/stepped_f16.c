#define STORAGE F16
#include "../stepped/stepped.inc"
