/* codes.h: what 8-bit codes stand for, a `real` at a time.
 *
 *     code   = saturate(round(number * scale + shift)), ties to even
 *     number = (code - shift) / scale
 *
 * The compiling side puts math.h in front; or, with vectors for `real`, its own LANES and what
 * stands below for one. `n` counts elements up to the end: no others are touched. */
#ifndef MIOPY_CODES_H
#define MIOPY_CODES_H

#include "quantized.h"

INLINE int code_at(const void *codes, int64_t at, int is_signed)
{
    return is_signed ? ((const int8_t *)codes)[at] : ((const uint8_t *)codes)[at];
}

#ifndef LANES
#define LANES 1
#define splat(x) ((real)(x))
INLINE real nearest(real x) { return rintf(x); }
INLINE real read_integers(const int32_t *from, int64_t n) { return (real)*from; }
INLINE real read_sum(const int32_t *a, const int32_t *b, int64_t n) { return (real)(*a + *b); }
INLINE real read_floats(const float *from, int64_t n) { return *from; }
INLINE void write_floats(float *to, real values, int64_t n) { *to = values; }
INLINE real read_codes(const void *codes, int64_t at, int64_t n, int is_signed)
{
    return (real)code_at(codes, at, is_signed);
}
/* The low byte is the same for both kinds. */
INLINE void write_codes(void *codes, int64_t at, real values, int64_t n)
{
    ((uint8_t *)codes)[at] = (uint8_t)(int)values;
}
#endif

/* a * b + c in two roundings: in one, ties would break another way. */
INLINE real product_and_sum(real a, real b, real c)
{
#if defined(__CUDACC__)
    return __fadd_rn(__fmul_rn(a, b), c);
#else
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
    return a * b + c; /* GCC: the including file sees to it */
#endif
}

/* NaN becomes the lowest. */
INLINE real saturated(real value, int is_signed)
{
    const real low = splat(is_signed ? -128 : 0), high = splat(is_signed ? 127 : 255);
    return pick(value > low, pick(value < high, value, high), low);
}

INLINE real code_of(real number, code_scale data)
{
    const real scaled = product_and_sum(number, splat(data.scale), splat(data.shift));
    return nearest(saturated(scaled, data.is_signed));
}

INLINE real number_of(real code, code_scale data)
{
    return (code - splat(data.shift)) / splat(data.scale);
}

#endif
