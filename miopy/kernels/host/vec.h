/* vec.h: vectors of VL reals, and what the cells need of them.
 *
 * GCC/Clang vector extensions, so one source serves AVX-512, AVX2, SSE2 and Neon; the including
 * file sets VL and REAL_IS_DOUBLE. No -ffast-math anywhere: round_to_powers() relies on strict
 * addition.
 *
 * float: sigmoid and tanh are within 3 units in the last place, but sigmoid below 2^-128 is 0 and
 * tanh(-0) is +0. NaN stays NaN, infinities saturate: tests/test_activations.py. double: the C
 * library's functions, lane by lane.
 */
#ifndef MIOPY_VEC_H
#define MIOPY_VEC_H

#include "../half.h"
#include <math.h>
#if defined(TARGET_AVX512) || defined(TARGET_AVX2)
#include <immintrin.h>
#endif

#if REAL_IS_DOUBLE
typedef double scalar;
typedef int64_t integer;
#else
typedef float scalar;
typedef int32_t integer;
#endif
typedef scalar vec __attribute__((vector_size(VL * sizeof(scalar))));
typedef integer veci __attribute__((vector_size(VL * sizeof(scalar))));
typedef scalar loose __attribute__((vector_size(VL * sizeof(scalar)), aligned(1), may_alias));

/* Whether instructions convert 16-bit types. */
#if (defined(TARGET_AVX512) || defined(TARGET_AVX2)) && !REAL_IS_DOUBLE
#define CONVERTS_HALVES 1
#else
#define CONVERTS_HALVES 0
#endif

enum { REAL_STORAGE = REAL_IS_DOUBLE ? F64 : F32 };
INLINE int converts(int storage) { return storage == F16 || storage == BF16; }
INLINE int64_t bytes_of(int storage) { return converts(storage) ? 2 : sizeof(scalar); }
#define real vec
#define zero ((vec){0})

INLINE vec load(const scalar *p) { return *(const loose *)p; }
INLINE void store(scalar *p, vec v) { *(loose *)p = v; }
INLINE vec splat(scalar x) { return x - zero; } /* x + 0 would not fold: -0 */
#define real_of(x) splat(x)
INLINE int integer_of(vec x) { return (int)x[0]; }
INLINE vec pick(veci mask, vec a, vec b) { return (vec)((mask & (veci)a) | (~mask & (veci)b)); }

/* 1 where x > 0, else 0. */
INLINE vec is_positive(vec x) { return pick(x > zero, splat(1), zero); }
/* Never -0; NaN is not <= 0 and stays. */
INLINE vec relu(vec x) { return pick(x <= zero, zero, x); }

#if REAL_IS_DOUBLE

INLINE vec sigmoid(vec x)
{
    for (int l = 0; l < VL; l++)
        x[l] = 1 / (1 + exp(-x[l]));
    return x;
}

INLINE vec hyperbolic_tangent(vec x)
{
    for (int l = 0; l < VL; l++)
        x[l] = tanh(x[l]);
    return x;
}

#else

typedef uint32_t vecu __attribute__((vector_size(VL * 4))); /* overflow is defined */

/* The larger and the smaller, and b where either is NaN: one instruction that compilers do not make
 * of pick(). */
#if defined(TARGET_AVX512)
INLINE vec larger(vec a, vec b) { return (vec)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE vec smaller(vec a, vec b) { return (vec)_mm512_min_ps((__m512)a, (__m512)b); }
#elif defined(TARGET_AVX2)
INLINE vec larger(vec a, vec b) { return (vec)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE vec smaller(vec a, vec b) { return (vec)_mm256_min_ps((__m256)a, (__m256)b); }
#else
INLINE vec larger(vec a, vec b) { return pick(a > b, a, b); }
INLINE vec smaller(vec a, vec b) { return pick(a < b, a, b); }
#endif

/* NaN stays. */
INLINE vec clamp(vec x, float low, float high)
{
    return smaller(splat(high), larger(splat(low), x));
}

/* n of x = n ln2 + r, |r| <= ln2/2. Adding 1.5 * 2^23 rounds x/ln2 to an integer and leaves it in
 * the low mantissa bits, so that it comes back already shifted into the exponent field. */
INLINE vecu round_to_powers(vec x, vec *n)
{
    const vec magic = splat(12582912.0f);
    vec shifted = x * splat(1.44269504f) + magic;
    *n = shifted - magic;
    return (vecu)shifted << 23;
}

/* (e^r - 1 - r) / r^2 for |r| <= ln2/2, times `scale`: a minimax polynomial. */
INLINE vec exp_tail(vec r, const float scale)
{
    vec q = r * splat(scale * 0.0013950542f) + splat(scale * 0.008368918f);
    q = q * r + splat(scale * 0.041666206f);
    q = q * r + splat(scale * 0.16666518f);
    return q * r + splat(scale * 0.5f);
}

/* e^-x = 2^(n-1) 2 e^r: of large -x the power is still finite, and the sum overflows. NaN stays as
 * r is a factor. ln2 comes in two parts, as r of large x is a small difference. */
INLINE vec sigmoid(vec x)
{
    vec n, minus = clamp(-x, -87.0f, 89.0f);
    vecu power = round_to_powers(minus, &n);
    vec r = minus - n * splat(0.693145752f) - n * splat(1.42860677e-6f);
    vec twice = (exp_tail(r, 2) * r + splat(2)) * r + splat(2);
    return splat(1) / (twice * (vec)(power + 0x3f000000u) + splat(1));
}

/* tanh x = m / (m + 2) with m = e^2x - 1 = 2^n p + (2^n - 1): no cancellation near 0. Of x that are
 * not next to 1 or -1 anyway n is so small that one part of ln2 is exact enough. */
INLINE vec hyperbolic_tangent(vec x)
{
    vec n, twice = clamp(x + x, -18.4f, 18.4f);
    vec scale = (vec)(round_to_powers(twice, &n) + 0x3f800000u);
    vec r = twice - n * splat(0.693147181f);
    vec m = (exp_tail(r, 1) * (r * r) + r) * scale + (scale - splat(1));
    return m / (m + splat(2));
}

typedef uint16_t vech __attribute__((vector_size(VL * 2)));

#if defined(TARGET_AVX512)
INLINE vec vec_of_f16(vech half) { return (vec)_mm512_cvtph_ps((__m256i)half); }
INLINE vech f16_of_vec(vec value)
{
    return (vech)_mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT);
}
#elif defined(TARGET_AVX2)
INLINE vec vec_of_f16(vech half) { return (vec)_mm256_cvtph_ps((__m128i)half); }
INLINE vech f16_of_vec(vec value)
{
    return (vech)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT);
}
#else
INLINE vec vec_of_f16(vech half)
{
    vecu bits = __builtin_convertvector(half, vecu);
    vecu sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    vecu special = (vecu)(rest >= 0x7c00u) & 0x7f800000u;
    vec value = (vec)(rest << 13) * splat(0x1p112f);
    return (vec)((vecu)value | special | sign);
}

INLINE vech f16_of_vec(vec value)
{
    vecu bits = (vecu)value, sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    vecu normal = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13;
    vecu tiny = (vecu)((vec)rest + splat(0.5f)) - 0x3f000000u;
    vecu is_tiny = (vecu)(rest < 0x38800000u), is_nan = (vecu)(rest > 0x7f800000u);
    vecu is_large = (vecu)(rest >= 0x477ff000u);
    vecu half = (is_tiny & tiny) | (~is_tiny & normal);
    half = (is_large & 0x7c00u) | (~is_large & half);
    half = (is_nan & (0x7e00u | (rest >> 13 & 0x1ffu))) | (~is_nan & half);
    return __builtin_convertvector(half | sign, vech);
}
#endif

/* One instruction, of which compilers make several. */
#if defined(TARGET_AVX512)
INLINE vecu wider(vech x) { return (vecu)_mm512_cvtepu16_epi32((__m256i)x); }
#elif defined(TARGET_AVX2)
INLINE vecu wider(vech x) { return (vecu)_mm256_cvtepu16_epi32((__m128i)x); }
#else
INLINE vecu wider(vech x) { return __builtin_convertvector(x, vecu); }
#endif
INLINE vec vec_of_bf16(vech half) { return (vec)(wider(half) << 16); }

INLINE vech bf16_of_vec(vec value)
{
    vecu bits = (vecu)value, is_nan = (vecu)((bits & 0x7fffffffu) > 0x7f800000u);
    vecu rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return __builtin_convertvector((is_nan & (bits >> 16 | 0x40u)) | (~is_nan & rounded), vech);
}

#endif

/* Some of the lanes: which, and memory of just those; the others are zero or untouched. */
#if defined(TARGET_AVX512)
#if REAL_IS_DOUBLE
typedef __mmask8 lane_mask;
INLINE vec load_lanes(const scalar *p, lane_mask some)
{
    return (vec)_mm512_maskz_loadu_pd(some, p);
}
INLINE void store_lanes(scalar *p, vec v, lane_mask some)
{
    _mm512_mask_storeu_pd(p, some, (__m512d)v);
}
#else
typedef __mmask16 lane_mask;
INLINE vec load_lanes(const scalar *p, lane_mask some)
{
    return (vec)_mm512_maskz_loadu_ps(some, p);
}
INLINE void store_lanes(scalar *p, vec v, lane_mask some)
{
    _mm512_mask_storeu_ps(p, some, (__m512)v);
}
#endif
INLINE lane_mask first_lanes(int64_t n)
{
    return n >= VL ? (lane_mask)~0u : n > 0 ? (1u << n) - 1 : 0;
}
#elif defined(TARGET_AVX2)
typedef veci lane_mask;
#if REAL_IS_DOUBLE
INLINE vec load_lanes(const scalar *p, lane_mask some)
{
    return (vec)_mm256_maskload_pd(p, (__m256i)some);
}
INLINE void store_lanes(scalar *p, vec v, lane_mask some)
{
    _mm256_maskstore_pd(p, (__m256i)some, (__m256d)v);
}
INLINE lane_mask first_lanes(int64_t n) { return (veci){0, 1, 2, 3} < n - (veci){0}; }
#else
INLINE vec load_lanes(const scalar *p, lane_mask some)
{
    return (vec)_mm256_maskload_ps(p, (__m256i)some);
}
INLINE void store_lanes(scalar *p, vec v, lane_mask some)
{
    _mm256_maskstore_ps(p, (__m256i)some, (__m256)v);
}
INLINE lane_mask first_lanes(int64_t n)
{
    return (veci){0, 1, 2, 3, 4, 5, 6, 7} < (integer)(n > VL ? VL : n) - (veci){0};
}
#endif
#else
typedef int lane_mask;
INLINE lane_mask first_lanes(int64_t n) { return n > VL ? VL : n; }
INLINE vec load_lanes(const scalar *p, lane_mask some)
{
    vec v = zero;
    for (int l = 0; l < some; l++)
        v[l] = p[l];
    return v;
}
INLINE void store_lanes(scalar *p, vec v, lane_mask some)
{
    for (int l = 0; l < some; l++)
        p[l] = v[l];
}
#endif

/* The first n of VL lanes. */
INLINE vec load_some(const scalar *p, int64_t n)
{
    return n >= VL ? load(p) : load_lanes(p, first_lanes(n));
}

INLINE void store_some(scalar *p, vec v, int64_t n)
{
    if (n >= VL)
        store(p, v);
    else
        store_lanes(p, v, first_lanes(n));
}

#if !REAL_IS_DOUBLE
#if defined(PAIRS) /* bfloat16 alone */
INLINE vec read_half(const uint16_t *p, int64_t n, int storage)
{
    return vec_of_bf16((vech)_mm256_maskz_loadu_epi16(first_lanes(n), p));
}

INLINE void write_half(uint16_t *p, vec v, int64_t n, int storage)
{
    const __m256i nearest = (__m256i)_mm512_cvtneps_pbh((__m512)v); /* without denormals */
    _mm256_mask_storeu_epi16(p, first_lanes(n), nearest);
}
#else
/* Conversions are wanted everywhere. Long ones, and those of the rest of a row, have one copy, or
 * builds take minutes. */
INLINE vec vec_of_half(vech half, int storage)
{
    return storage == F16 ? vec_of_f16(half) : vec_of_bf16(half);
}
static __attribute__((noinline)) vec read_some_halves(const uint16_t *p, int64_t n, int storage)
{
    vech half = {0};
    if (n >= VL)
        memcpy(&half, p, sizeof half);
    else if (n > 0)
        memcpy(&half, p, n * sizeof *p);
    return vec_of_half(half, storage);
}
INLINE vec read_half(const uint16_t *p, int64_t n, int storage)
{
    vech half;
    if (!CONVERTS_HALVES || n < VL)
        return read_some_halves(p, n, storage);
    memcpy(&half, p, sizeof half);
    return vec_of_half(half, storage);
}

static __attribute__((noinline)) void write_half(uint16_t *p, vec v, int64_t n, int storage)
{
    vech half = storage == F16 ? f16_of_vec(v) : bf16_of_vec(v);
    if (n >= VL)
        memcpy(p, &half, sizeof half);
    else if (n > 0)
        memcpy(p, &half, n * sizeof *p);
}
#endif
#endif

/* Element `at` and the n - 1 that follow it of an array in storage precision. */
INLINE vec read(const void *array, int64_t at, int64_t n, int storage)
{
#if !REAL_IS_DOUBLE
    if (storage != F32)
        return read_half((const uint16_t *)array + at, n, storage);
#endif
    return load_some((const scalar *)array + at, n);
}

INLINE void write(void *array, int64_t at, vec v, int64_t n, int storage)
{
#if !REAL_IS_DOUBLE
    if (storage != F32) {
        write_half((uint16_t *)array + at, v, n, storage);
        return;
    }
#endif
    store_some((scalar *)array + at, v, n);
}

#endif
