/* matrix_unit.h: the matrix unit of x86-64 (AMX): whether its kernels can be compiled, and run. */
#ifndef MIOPY_MATRIX_UNIT_H
#define MIOPY_MATRIX_UNIT_H

#if defined(__x86_64__) && defined(__linux__) && defined(__has_include)
#if __has_include(<amxbf16intrin.h>) || __has_include(<amxintrin.h>) /* GCC, Clang */
#define HAS_MATRIX_UNIT
#endif
#endif
#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<avx512bf16intrin.h>)
#define HAS_PAIRS /* instructions for pairs of bfloat16 */
#endif
#endif

/* Whether this machine has one that multiplies bfloat16 and Linux lets this process use it, which
 * it does not before it is asked. */
int may_use_matrix_unit(void);

/* Whether it has instructions for pairs of bfloat16, and such that convert half. */
int has_pairs(void);
int has_halves(void);

#endif
