#define STORAGE BF16
#include "../stepped/stepped.inc"
