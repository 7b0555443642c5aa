/* target.h: the only file that knows what the kernels are compiled for.
 *
 * Portable kernels (kernels/<family>.c) are compiled once per storage type, by NVRTC or hiprtc for
 * a GPU or by the C compiler for the host. The compiling side defines STORAGE as one of the numbers
 * below. A kernel loads `storage`, computes in `real` and stores `storage`.
 *
 *     KERNEL FN(scale)(storage *y, int64_t n, real factor)
 *     {
 *         EACH(i, n) y[i] = to_storage(factor * to_real(y[i]));
 *     }
 */
#ifndef MIOPY_TARGET_H
#define MIOPY_TARGET_H

#define F32 0
#define F16 1
#define BF16 2
#define F64 3
/* Integers, for the tensor operations alone. */
#define I32 4
#define I8 5
#define I64 6
#define U8 7 /* for conversions alone */

#if defined(__CUDACC__) || defined(__HIPCC__)
#ifndef INT64_MAX /* no <stdint.h>: device compilers have none */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#endif
/* Blocks are of up to 256 threads, grids of one dimension, of any size. */
#define KERNEL extern "C" __global__ void __launch_bounds__(256, 2)
#define INLINE static __device__ __forceinline__ __attribute__((unused))
#define EACH(i, n)                                                                     \
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (int64_t)(n); \
         i += (int64_t)gridDim.x * blockDim.x)
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#define KERNEL void
#define INLINE static inline __attribute__((always_inline, unused))
#define EACH(i, n) for (int64_t i = 0; i < (int64_t)(n); i++)
#endif

/* a / b for a >= 0, b > 0: a GPU divides 32 bits several times as fast as 64. */
INLINE int64_t quotient(int64_t a, int64_t b)
{
    return (int64_t)((a | b) >> 32 ? (uint64_t)a / (uint64_t)b : (uint32_t)a / (uint32_t)b);
}

/* FN(scale) is scale_f32, scale_f16, ... */
#define FN__(name, type) name##_##type
#define FN_(name, type) FN__(name, type)
#define FN(name) FN_(name, STORAGE_NAME)

#endif
