/* Compile what follows for AVX-512; kernels.c asks the machine before it is called. */
#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")
#endif
