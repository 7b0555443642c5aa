/* Compile what follows, up to the end of build.inc, for AVX2 with FMA and F16C; has_build() asks
 * the machine. */
#define TARGET_AVX2
#if defined(__clang__)
#define POP_TARGET
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,prfchw"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,prfchw")
#endif
