/* convert.c: the elements of a strided tensor as another type's: float, the 16-bit floats, and
 * 8-bit integers, which saturate and are the nearest, the even one of two. */
#include "half.h"
#include "strided.h"

typedef struct {
    void *y;
    const void *x;
    const float *scales; /* NULL: 1 */
    walk_strides y_strides, x_strides, scale_strides;
    walk_shape shape;
    int y_type, x_type;
    float shift;
} conversion;

INLINE float converted_from(int type, const void *x, int64_t at)
{
    switch (type) {
    case F32: return ((const float *)x)[at];
    case F16: return f32_of_f16(((const uint16_t *)x)[at]);
    case BF16: return f32_of_bf16(((const uint16_t *)x)[at]);
    case I8: return ((const int8_t *)x)[at];
    default: return ((const uint8_t *)x)[at];
    }
}

/* NaN becomes the lowest. Adding a number whose last bit is 1 rounds as the adder does. */
INLINE int nearest(float value, float low, float high)
{
    const float last_bit_is_one = 12582912.0f; /* 1.5 * 2^23 */
    const float inside = value > low ? (value < high ? value : high) : low;
    return (int)((inside + last_bit_is_one) - last_bit_is_one);
}

INLINE void convert_to(int type, void *y, int64_t at, float value)
{
    switch (type) {
    case F32: ((float *)y)[at] = value; break;
    case F16: ((uint16_t *)y)[at] = f16_of_f32(value); break;
    case BF16: ((uint16_t *)y)[at] = bf16_of_f32(value); break;
    case I8: ((int8_t *)y)[at] = (int8_t)nearest(value, -128, 127); break;
    default: ((uint8_t *)y)[at] = (uint8_t)nearest(value, 0, 255);
    }
}

/* y = x * scale + shift in two roundings: one would break ties another way. */
INLINE float scaled(float x, float scale, float shift)
{
#if defined(__CUDA_ARCH__)
    return __fadd_rn(__fmul_rn(x, scale), shift);
#elif defined(__HIPCC__)
#pragma clang fp contract(off)
    return x * scale + shift;
#else
    volatile float product = x * scale;
    return product + shift;
#endif
}

/* The types apart: a loop is compiled for those that are known. */
INLINE void convert_elements(const conversion *s, int y_type, int x_type)
{
    EACH(row, s->shape.rows) {
        const int64_t to = start_of(row, s->shape, s->y_strides);
        const int64_t from = start_of(row, s->shape, s->x_strides);
        const int64_t factor = start_of(row, s->shape, s->scale_strides);
        for (int64_t j = 0; j < s->shape.columns; j++) {
            float value = converted_from(x_type, s->x, from + j * s->x_strides.column);
            if (s->scales)
                value = scaled(value, s->scales[factor + j * s->scale_strides.column], s->shift);
            convert_to(y_type, s->y, to + j * s->y_strides.column, value);
        }
    }
}

KERNEL convert_tensor(conversion s)
{
    if (s.y_type == F32 && s.x_type == F32)
        convert_elements(&s, F32, F32);
    else if (s.y_type == F32 && s.x_type == BF16)
        convert_elements(&s, F32, BF16);
    else if (s.y_type == BF16 && s.x_type == F32)
        convert_elements(&s, BF16, F32);
    else if (s.y_type == F32 && s.x_type == F16)
        convert_elements(&s, F32, F16);
    else if (s.y_type == F16 && s.x_type == F32)
        convert_elements(&s, F16, F32);
    else
        convert_elements(&s, s.y_type, s.x_type);
}
