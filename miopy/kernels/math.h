/* math.h: what the cells need, one `real` at a time.
 *
 * NaN stays NaN, infinities saturate, relu is never -0; float: tanh(-0) is +0. All as on the host,
 * where host/vec.h does the same for vectors. */
#ifndef MIOPY_MATH_H
#define MIOPY_MATH_H

#include "storage.h"

#define zero ((real)0)
#define real_of(x) ((real)(x))
#define integer_of(x) ((int)(x)) /* of what is the same everywhere */
#define pick(condition, a, b) ((condition) ? (a) : (b))

/* 1 where x > 0, else 0. */
INLINE real is_positive(real x) { return x > 0; }
INLINE real relu(real x) { return x <= 0 ? 0 : x; }

#if STORAGE == F64
INLINE real sigmoid(real x) { return 1 / (1 + exp(-x)); }
INLINE real hyperbolic_tangent(real x) { return tanh(x); }
#elif defined(__CUDACC__) || defined(__HIPCC__)
/* Types of 16 bits are computed within 2^-18, and without branches, which would keep a GPU from
 * running the chains of a cell's gates beside each other. */
#ifdef __CUDA_ARCH__
INLINE real power_of_two(real x)
{
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}
#else
INLINE real power_of_two(real x) { return exp2f(x); }
#endif

/* DIVIDES is defined where codes are made of results, and compared bit by bit. */
#if defined(__CUDA_ARCH__) && !defined(DIVIDES)
INLINE real reciprocal(real x)
{
    asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}
#else
INLINE real reciprocal(real x) { return 1 / x; }
#endif

INLINE real exponential(real x) { return STORAGE == F32 ? expf(x) : power_of_two(x * 1.44269504f); }

INLINE real sigmoid(real x) { return reciprocal(1 + exponential(-x)); }

#if STORAGE == F32
INLINE real hyperbolic_tangent(real x) { return tanhf(x) + 0; }
#else
/* Near 0 a polynomial in x^2, of the least relative error up to 0.55. */
INLINE real hyperbolic_tangent(real x)
{
    const real size = fabsf(x), square = x * x;
    const real far = copysignf(1 - 2 * reciprocal(1 + exponential(2 * size)), x);
    real near = 0.0164374709f;
    near = near * square - 0.0526717454f;
    near = near * square + 0.133207232f;
    near = near * square - 0.333329469f;
    return pick(size < 0.55f, x + x * square * near, far);
}
#endif
#else
INLINE real sigmoid(real x) { return 1 / (1 + expf(-x)); }
INLINE real hyperbolic_tangent(real x) { return tanhf(x) + 0; }
#endif

#endif
