#include "matrix_unit.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { AVX512_BF16 = 1 << 5 }; /* of leaf 7.1, register eax */
enum { F16C = 1 << 29 };       /* of leaf 1, register ecx */

int has_pairs(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX512_BF16);
}

int has_halves(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & F16C);
}
#else
int has_pairs(void) { return 0; }
int has_halves(void) { return 0; }
#endif

#if defined(HAS_MATRIX_UNIT)
#include <sys/syscall.h>
#include <unistd.h>

enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };                /* of leaf 7, register edx */
enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 }; /* of asm/prctl.h */

int may_use_matrix_unit(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AMX_BF16) && (d & AMX_TILE) &&
           !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
}
#else
int may_use_matrix_unit(void) { return 0; }
#endif
