/* quantized.c: 8-bit codes of data and weights, and their products.
 *
 *     weight code = saturate(round(number * weight scale)), ties to even
 *
 * The compiling side puts math.h in front. */
#include "codes.h"

KERNEL FN(copy_codes)(code_copy s)
{
    EACH(e, s.count) {
        const float number = s.from && s.from_float ? ((const float *)s.from)[e] : 0;
        if (s.to_float)
            ((float *)s.to)[e] = number_of((float)code_at(s.from, e, s.data.is_signed), s.data);
        else if (s.from && !s.from_float)
            ((uint8_t *)s.to)[e] = ((const uint8_t *)s.from)[e];
        else
            write_codes(s.to, e, code_of(number, s.data), 1);
    }
}

KERNEL FN(copy_weights)(weight_copy s)
{
    const int64_t K = s.lengths[4], outputs = s.lengths[2] * s.lengths[3];
    EACH(e, s.lengths[0] * s.lengths[1] * outputs * K) {
        const int64_t row = quotient(e, K), output = row - quotient(row, outputs) * outputs;
        int64_t at = 0, rest = e;
        for (int axis = 4; axis >= 0; axis--) {
            const int64_t above = quotient(rest, s.lengths[axis]);
            at += (rest - above * s.lengths[axis]) * s.strides[axis];
            rest = above;
        }
        if (s.from_float) {
            const float scale = s.weights.scales[output * s.weights.per_output];
            const float scaled = ((const float *)s.from)[at] * scale;
            write_codes(s.codes, e, nearest(saturated(scaled, 1)), 1);
        } else {
            s.codes[e] = ((const int8_t *)s.from)[at];
        }
    }
}

KERNEL FN(sum_codes)(code_sums s)
{
    EACH(row, s.rows) {
        int32_t sum = 0;
        for (int64_t k = 0; k < s.K; k++)
            sum += s.codes[row * s.K + k];
        s.sums[row] = sum;
    }
}

KERNEL FN(multiply_codes)(integer_product s)
{
    EACH(e, s.M * s.N) {
        const int64_t i = quotient(e, s.N), n = e - i * s.N, step = quotient(i, s.batch);
        const int64_t a = step * s.a_step + (i - step * s.batch) * s.a_row;
        int32_t sum = 0;
        for (int64_t k = 0; k < s.K; k++)
            sum += code_at(s.a, a + k, s.is_signed) * s.b[n * s.K + k];
        s.c[i * s.c_row + n] = sum;
    }
}

KERNEL FN(join_codes)(joined_codes s)
{
    const int is_signed = s.data.is_signed;
    const int64_t width = s.second && !s.is_sum ? 2 * s.size : s.size;
    EACH(e, s.steps * s.batch * width) {
        const int64_t row = quotient(e, width), step = quotient(row, s.batch), u = e - row * width;
        const int64_t from = row * s.size + (u < s.size ? u : u - s.size);
        const int64_t to = step * s.to_step + (row - step * s.batch) * s.to_row + u;
        float code = (float)code_at(u < s.size ? s.first : s.second, from, is_signed);
        if (s.is_sum)
            code = saturated(code + (float)code_at(s.second, from, is_signed), is_signed);
        if (s.to_float)
            ((float *)s.to)[to] = (code - (s.is_sum ? 2 : 1) * s.data.shift) / s.data.scale;
        else
            write_codes(s.to, to, code, 1);
    }
}
