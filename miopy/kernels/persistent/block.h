/* block.h: what the threads of one block do together, on the targets that have blocks: shared
 * memory, exchange in a group of lanes, and the matrix instruction where there is one.
 *
 * A warp is 32 threads that take the same branches, whatever a target calls so. The compiling side
 * defines THREADS, how many a block has, and MATRIX_INSTRUCTION, 1 if products are to be made by
 * that of NVIDIA's: float16 from sm_75 on, bfloat16 and, as TF32, float32 from sm_80 on. */
#ifndef MIOPY_BLOCK_H
#define MIOPY_BLOCK_H

#include "../storage.h"

#define LANES 32
#define WARPS (THREADS / LANES)
#define PACKED (STORAGE == F32 ? 1 : 2) /* elements in a word */

/* Blocks are of THREADS threads; a multiprocessor holds one, with all of its registers. */
#define BLOCK_KERNEL extern "C" __global__ void __launch_bounds__(THREADS, 1)

/* A parameter that is read where the launch has put it, also at an index known when running. */
#if defined(__CUDA_ARCH__)
#define LAUNCHED(type) const __grid_constant__ type
#else
#define LAUNCHED(type) const type
#endif

#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#endif

#if defined(__HIPCC__)
#define exchange_lanes(value, bits) __shfl_xor(value, bits)
#else
#define exchange_lanes(value, bits) __shfl_xor_sync(~0u, value, bits)
#endif

/* The same number, from which the compiler computes anew what it would keep in registers. */
INLINE int anew(int number)
{
#ifdef __CUDA_ARCH__
    asm volatile("" : "+r"(number));
#endif
    return number;
}

#if MATRIX_INSTRUCTION && defined(__CUDA_ARCH__)
#if STORAGE == F32
#define MATRIX_TYPES "m16n8k8.row.col.f32.tf32.tf32.f32"
#elif STORAGE == F16
#define MATRIX_TYPES "m16n8k16.row.col.f32.f16.f16.f32"
#else
#define MATRIX_TYPES "m16n8k16.row.col.f32.bf16.bf16.f32"
#endif

/* c += a b. Lane (group, t) = (lane / 4, lane % 4) has of a (16, 8 words) rows group and group + 8,
 * of b (8 words, 8) column group, of both words t and t + 4, each of PACKED numbers from k = PACKED
 * times that on; of c (16, 8) rows group and group + 8, columns 2t, 2t + 1. */
INLINE void multiply_matrices(float *c, const uint32_t *a, uint32_t b_low, uint32_t b_high)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned." MATRIX_TYPES
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
#else /* float16, in two halves of depth 8 */
    const uint32_t b[] = {b_low, b_high};
    for (int half = 0; half < 2; half++)
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
            " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
#endif
}

#if STORAGE == F32
/* The nearest number with 10 bits of fraction, ties away from zero; a NaN is 0x7fffffff. */
INLINE uint32_t tf32_of_f32(float value)
{
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}
#endif
#endif

#endif
