/* alignment.cpp: what kernels call instead of reading or writing at an address that is no multiple
 * of what the type needs. The host does it all the same; a device would fault. */
#include "runtime.h"

namespace hostcuda
{
bool misaligned;
}

#ifndef __SANITIZE_ADDRESS__ /* then the sanitizer's own ends the program */
/* As compilers call it with -fsanitize=alignment: where in the source, and the address. */
PUBLIC void __ubsan_handle_type_mismatch_v1(void *, std::uintptr_t) { hostcuda::misaligned = true; }
#endif
