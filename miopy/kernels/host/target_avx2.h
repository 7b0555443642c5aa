/* Compile what follows for AVX2 with FMA; kernels.c asks the machine before it is called. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
