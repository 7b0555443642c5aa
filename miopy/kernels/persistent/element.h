/* element.h: the cell on one row and unit of a step in two halves, so that what needs no recurrent
 * product can be loaded before there is one. As in ../pointwise.h otherwise, but for cells with
 * neither peepholes nor attention. */
#ifndef MIOPY_ELEMENT_H
#define MIOPY_ELEMENT_H

#include "../pointwise.h"

/* So many rows of our own arrays, whose stride fits 32 bits: one instruction if their number does.
 */
INLINE int64_t behind(int64_t rows, int64_t stride) { return rows * (int)stride; }

#if STORAGE == F32
#define bits_of_storage(x) bits_of_f32(x)
#define real_of_bits(bits) f32_of_bits(bits)
#else
#define bits_of_storage(x) ((uint32_t)(x))
#define real_of_bits(bits) to_real((storage)(bits))
#endif

/* By gate, bits of the input product, or of what x has. */
INLINE void load_inputs(uint32_t *to, const forward_step *s, int64_t b, int u)
{
    const int H = (int)s->hidden_size;
    if (s->x_products) {
        const real *products = (const real *)s->x_products + behind(b, GATES * H) + u;
        for (int g = 0; g < GATES; g++)
            to[g] = bits_of_f32(products[position_of(s->position, g) * H]);
    } else {
        const storage *x = (const storage *)s->x + b * s->x_row + u;
        for (int g = 0; g < GATES; g++)
            to[g] = bits_of_storage(x[position_of(s->position, g) * s->x_gate]);
    }
}

/* What a row and unit of a step of forward have besides their recurrent products, as it is in
 * memory: nothing waits for it until the products are there. */
typedef struct {
    uint32_t input[GATES]; /* as of load_inputs */
    real prev[2];
} forward_given;

INLINE void load_forward_given(forward_given *to, const forward_step *s, int b, int u)
{
    const int H = (int)s->hidden_size;
    load_inputs(to->input, s, b, u);
    to->prev[0] = s->h ? ((const real *)s->h)[behind(b, H) + u] : zero;
    to->prev[1] = STATES > 1 ? ((const real *)s->c)[behind(b, H) + u] : zero;
}

/* Biases of a unit, by plane: those of the recurrent product, with those of the input product where
 * a gate has the sum of both, else in the input's own plane. */
INLINE void load_biases(real *to, const forward_step *s, int u)
{
    const int input_plane[] = {INPUT_PLANE};
    for (int g = 0; g < GATES; g++) {
        const real input = read_or_zero(s->input_bias[g], u);
        const real recurrent = read_or_zero(s->recurrent_bias[g], u);
        to[g] = input_plane[g] == g ? input + recurrent : recurrent;
        if (input_plane[g] != g)
            to[input_plane[g]] = input;
    }
}

/* Pre-activations, of the products of each gate. */
INLINE void sum_products(real *pre, const uint32_t *inputs, const forward_step *s,
                         const real *biases, const real *products)
{
    const int input_plane[] = {INPUT_PLANE};
    for (int g = 0; g < GATES; g++) {
        const real input = s->x_products ? f32_of_bits(inputs[g]) : real_of_bits(inputs[g]);
        if (input_plane[g] == g) {
            pre[g] = products[g] + (input + biases[g]);
        } else {
            pre[g] = products[g] + biases[g];
            pre[input_plane[g]] = input + biases[input_plane[g]];
        }
    }
}

/* What the cell makes of them. */
typedef struct {
    real next[2], saved[MOST_PLANES];
} forward_results;

/* What a row and unit of a step of backward data have besides their product, as it is in memory. */
typedef struct {
    backward_inputs read;
    real dh, dc;
} backward_given;

/* Of a row that has ended, only dh. */
INLINE void load_backward_given(backward_given *to, const backward_step *s, int b, int u)
{
    const int64_t e = behind(b, s->hidden_size) + u;
    to->dh = ((const real *)s->dh)[e];
    if (b >= s->rows)
        return;
    to->dc = STATES > 1 ? ((const real *)s->dc)[e] : zero;
    load_backward(&to->read, s, b, b < s->before_rows ? b : -1, b, u);
}

#endif
