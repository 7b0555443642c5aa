/* Compile what follows, up to the end of build.inc, for AVX-512; has_build() asks the machine. */
#define TARGET_AVX512
#if defined(__clang__)
#define POP_TARGET
#pragma clang attribute push(                                                      \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,prfchw"))), \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,prfchw")
#endif
