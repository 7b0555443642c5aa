/* half.h: scalar conversions of the 16-bit storage types, round to nearest even. No arithmetic on
 * subnormals of float, which GPUs may flush to zero. NVIDIA's have an instruction for most. */
#ifndef MIOPY_HALF_H
#define MIOPY_HALF_H

#include "target.h"

INLINE float f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

INLINE uint32_t bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

#ifdef __CUDA_ARCH__
INLINE float f32_of_f16(uint16_t half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}

INLINE uint16_t f16_of_f32(float value)
{
    uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}
#else
INLINE float f32_of_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
    if (rest >= 0x7c00) /* infinity or NaN: the exponent becomes all ones */
        return f32_of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest < 0x400) /* subnormal: a multiple of 2^-24 */
        return f32_of_bits(bits_of_f32((float)(int32_t)rest * 0x1p-24f) | sign);
    return f32_of_bits(sign | ((rest << 13) + 0x38000000)); /* from half's bias to float's */
}

INLINE uint16_t f16_of_f32(float value)
{
    uint32_t bits = bits_of_f32(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) /* NaN stays NaN */
        return sign | 0x7e00 | (rest >> 13 & 0x1ff);
    if (rest >= 0x477ff000) /* rounds to infinity */
        return sign | 0x7c00;
    if (rest < 0x38800000) /* subnormal: let the adder round at half's last bit, 2^-24 */
        return sign | (bits_of_f32(f32_of_bits(rest) + 0.5f) - 0x3f000000);
    return sign | (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13;
}
#endif

INLINE float f32_of_bf16(uint16_t half) { return f32_of_bits((uint32_t)half << 16); }

INLINE uint16_t bf16_of_f32(float value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint16_t half;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
#else
    uint32_t bits = bits_of_f32(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
}

#endif
