/* element.h: the cell on one row and unit of a step in two halves, so that what needs no recurrent
 * product can be loaded before there is one. As in ../pointwise.h otherwise. */
#ifndef MIOPY_ELEMENT_H
#define MIOPY_ELEMENT_H

#include "../pointwise.h"

/* What a row and unit of a step of forward have besides their recurrent products. */
typedef struct {
    real input[GATES], recurrent_bias[GATES]; /* by gate */
    real others[PEEPHOLES + ATTENTION + 1];   /* and one that is not used */
    real prev[2];
} forward_given;

INLINE void load_forward_given(forward_given *to, const forward_step *s, int64_t b, int64_t u)
{
    const real *x_products = (const real *)s->x_products, *h = (const real *)s->h;
    const storage *x = (const storage *)s->x + b * s->x_row + u;
    const int64_t e = b * s->hidden_size + u;
    for (int g = 0; g < GATES; g++) {
        const int position = position_of(s->position, g);
        const int64_t at = (b * GATES + position) * s->hidden_size + u;
        const real given = x_products ? x_products[at] : to_real(x[position * s->x_gate]);
        to->input[g] = given + read_or_zero(s->input_bias[g], u);
        to->recurrent_bias[g] = read_or_zero(s->recurrent_bias[g], u);
    }
    load_others(to->others, s->peepholes, s->attention, b, u, s->hidden_size);
    to->prev[0] = h ? h[e] : zero;
    to->prev[1] = STATES > 1 ? ((const real *)s->c)[e] : zero;
}

/* The sum of both products for most gates; for the others the recurrent one, and the input
 * product in its own plane. */
INLINE void sum_products(real *pre, const forward_given *of, const real *products)
{
    const int input_plane[] = {INPUT_PLANE};
    for (int g = 0; g < GATES; g++) {
        const real recurrent = products[g] + of->recurrent_bias[g];
        if (input_plane[g] == g) {
            pre[g] = of->input[g] + recurrent;
        } else {
            pre[g] = recurrent;
            pre[input_plane[g]] = of->input[g];
        }
    }
    for (int i = 0; i < PEEPHOLES + ATTENTION; i++)
        pre[PLANES - PEEPHOLES - ATTENTION + i] = of->others[i];
}

/* What the cell makes of them. */
typedef struct {
    real next[2], saved[MOST_PLANES];
} forward_results;

/* What a row and unit of a step of backward data have besides their product. */
typedef struct {
    real saved[MOST_PLANES], prev[2], next[2];
    real dh, dc, dy;
} backward_given;

/* Of a row that has ended, only dh. */
INLINE void load_backward_given(backward_given *to, const backward_step *s, int64_t b, int64_t u)
{
    const int64_t e = b * s->hidden_size + u;
    to->dh = ((const real *)s->dh)[e];
    if (b >= s->rows)
        return;
    const int goes_on = b < s->before_rows;
    const int64_t initial = (s->order ? s->order[b] : b) * s->hidden_size + u;
    to->dc = STATES > 1 ? ((const real *)s->dc)[e] : zero;
    to->dy = read_or_zero(s->dy, b * s->dy_row + u);
    if (s->mask)
        to->dy = ((const uint8_t *)s->mask)[b * s->mask_row + u] ? to->dy * (real)s->scale : zero;
    for (int v = 0; v < SAVED; v++)
        to->saved[v] = to_real(((const storage *)s->saved)[(b * SAVED + v) * s->hidden_size + u]);
    load_others(to->saved + SAVED, s->peepholes, s->attention, b, u, s->hidden_size);
    to->next[0] = to_real(((const storage *)s->output)[b * s->output_row + u]);
    to->prev[0] = goes_on ? to_real(((const storage *)s->output_before)[b * s->output_row + u])
                          : read_or_zero(s->hx, initial);
    to->next[1] = to->prev[1] = zero;
    if (STATES > 1) {
        to->next[1] = ((const real *)s->cells)[e];
        to->prev[1] = goes_on ? ((const real *)s->cells_before)[e] : read_or_zero(s->cx, initial);
    }
}

/* The cell on row b and unit u of a step of backward data, with what the step handled before passes
 * on to dh; `passed` as of run_backward. A row that has ended only adds that to dh. */
INLINE void run_backward_cell(const backward_step *s, const real *scalars, const backward_given *of,
                              real product, int64_t b, int64_t u, storage *passed)
{
    const real from_after = of->dh + product;
    if (b >= s->rows) {
        ((real *)s->dh)[b * s->hidden_size + u] = from_after;
        return;
    }
    const real dnext[2] = {from_after + of->dy, of->dc};
    run_backward(s, scalars, of->saved, of->prev, of->next, dnext, b, u, passed);
}

#endif
