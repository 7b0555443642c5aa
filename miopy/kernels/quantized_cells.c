/* quantized_cells.c: a step on 8-bit codes, of LSTM and of GRU with the reset before the product.
 *
 * A product of data and weights is exact: the sum of data * weight codes, minus shift * the sum of
 * weight codes, over both scales. The order of float operations is that of oneDNN, so that codes
 * are alike.
 *
 * The compiling side puts math.h in front, as codes.h says, and the cells lstm and
 * reset_before_gru. */
#include "codes.h"

/* LANES units from u on of row b, which are elements from `at` on of (rows, size). `left` counts
 * the row's elements from there. */
typedef struct {
    int64_t b, u, at, left;
} unit_place;

INLINE int64_t places(int64_t rows, int64_t size) { return rows * ((size + LANES - 1) / LANES); }

INLINE unit_place place_of(int64_t e, int64_t size)
{
    const int64_t blocks = (size + LANES - 1) / LANES, b = quotient(e, blocks);
    const int64_t u = (e - b * blocks) * LANES;
    const unit_place place = {b, u, b * size + u, size - u};
    return place;
}

/* The scale of weights and data together, of outputs from j on. */
INLINE real product_scale(weight_scale weights, code_scale data, int64_t j, int64_t n)
{
    const float *scales = weights.scales;
    return (weights.per_output ? read_floats(scales + j, n) : splat(*scales)) * splat(data.scale);
}

/* The pre-activation of one of `gates` gates. */
INLINE real gate_input(const quantized_step *s, int gates, int gate, unit_place p)
{
    const int64_t j = gate * s->hidden_size + p.u, e = p.b * gates * s->hidden_size + j;
    const real scale = product_scale(s->weights, s->data, j, p.left);
    const real sums = read_sum(s->input_sums + j, s->recurrent_sums + j, p.left);
    const real bias = read_floats(s->bias + j, p.left) - sums * splat(s->data.shift) / scale;
    return read_sum(s->x_products + e, s->h_products + e, p.left) / scale + bias;
}

INLINE real number_before(const quantized_step *s, unit_place p)
{
    return number_of(read_codes(s->h, p.at, p.left, s->data.is_signed), s->data);
}

KERNEL FN(quantized_lstm)(quantized_step s)
{
    const real infinity = splat(f32_of_bits(0x7f800000)), nan = splat(f32_of_bits(0x7fc00000));
    const real unclipped[] = {-infinity, infinity, nan};
    EACH(e, places(s.rows, s.hidden_size)) {
        const unit_place p = place_of(e, s.hidden_size);
        const real prev[] = {zero, read_floats(s.c + p.at, p.left)};
        real pre[4], next[2], saved[4];
        for (int gate = 0; gate < 4; gate++)
            pre[gate] = gate_input(&s, 4, gate, p);
        lstm_forward(unclipped, pre, prev, next, saved);
        write_floats(s.c + p.at, next[1], p.left);
        write_codes(s.to, p.at, code_of(next[0], s.data), p.left);
    }
}

/* What the product of the late gate is with: reset * h, as codes. */
KERNEL FN(quantized_gru_operand)(quantized_step s)
{
    EACH(e, places(s.rows, s.hidden_size)) {
        const unit_place p = place_of(e, s.hidden_size);
        const real prev[] = {number_before(&s, p)};
        const real pre[] = {zero, gate_input(&s, 3, 1, p)};
        const real operand = reset_before_gru_operand(0, pre, prev);
        write_codes(s.to, p.at, code_of(operand, s.data), p.left);
    }
}

KERNEL FN(quantized_gru)(quantized_step s)
{
    EACH(e, places(s.rows, s.hidden_size)) {
        const unit_place p = place_of(e, s.hidden_size);
        const real prev[] = {number_before(&s, p)};
        real pre[3], next[1], saved[3];
        for (int gate = 0; gate < 3; gate++)
            pre[gate] = gate_input(&s, 3, gate, p);
        reset_before_gru_forward(0, pre, prev, next, saved);
        write_codes(s.to, p.at, code_of(next[0], s.data), p.left);
    }
}

KERNEL FN(quantized_project)(quantized_projection s)
{
    EACH(e, places(s.rows, s.size)) {
        const unit_place p = place_of(e, s.size);
        const real scale = product_scale(s.weights, s.data, p.u, p.left);
        const real sums = read_integers(s.sums + p.u, p.left);
        const real products = read_integers(s.products + p.at, p.left);
        const real number = product_and_sum(-sums, splat(s.data.shift), products) / scale;
        write_codes(s.to, p.at, code_of(number, s.data), p.left);
    }
}
