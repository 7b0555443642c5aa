/* pointwise.h: one step of a recurrence, but for its products: the cell on one row and unit.
 *
 * The compiling side puts the cell's header in front, after math.h, and defines
 *     GATES, PLANES, SAVED, STATES, PEEPHOLES    how many the cell has
 *     ATTENTION                                  1 if it takes attention, else 0
 *     cell_forward, cell_backward        its functions
 *     INPUT_PLANE                        the plane of each gate's input product, see core/cells.py
 *     POSITION                           optional: where the layout keeps each plane
 * Lists are known when compiling, so that planes stay in registers. */
#include "math.h"
#include "step.h"

#define SCALARS_OF(s)                                                                \
    {(real)s.scalars[0], (real)s.scalars[1], (real)s.scalars[2], (real)s.scalars[3], \
     (real)s.scalars[4]}

/* Element `at`, or 0 where there is no array. */
INLINE real read_or_zero(const void *array, int64_t at)
{
    return array ? to_real(((const storage *)array)[at]) : zero;
}

/* The sum of both products for most gates; for the others the recurrent one, and the input
 * product in its own plane. */
INLINE void load_products(real *pre, const forward_step *s, int64_t b, int64_t u)
{
    const int input_plane[] = {INPUT_PLANE};
    const real *x_products = (const real *)s->x_products, *h_products = (const real *)s->h_products;
    const storage *x = (const storage *)s->x + b * s->x_row + u;
    for (int g = 0; g < GATES; g++) {
        const int position = position_of(s->position, g);
        const int64_t at = (b * GATES + position) * s->hidden_size + u;
        const real given = x_products ? x_products[at] : to_real(x[position * s->x_gate]);
        const real input = given + read_or_zero(s->input_bias[g], u);
        const real recurrent =
            (b < s->h_rows ? h_products[at] : zero) + read_or_zero(s->recurrent_bias[g], u);
        if (input_plane[g] == g) {
            pre[g] = input + recurrent;
        } else {
            pre[g] = recurrent;
            pre[input_plane[g]] = input;
        }
    }
}

/* What is no product: peepholes and attention of a row and unit, behind what `to` already has. */
INLINE void load_others(real *to, const void *peepholes, const void *attention, int64_t b,
                        int64_t u, int64_t hidden_size)
{
    for (int p = 0; p < PEEPHOLES; p++)
        to[p] = to_real(((const storage *)peepholes)[p * hidden_size + u]);
    if (ATTENTION)
        to[PEEPHOLES] = to_real(((const storage *)attention)[b]);
}

INLINE void load_planes(real *pre, const forward_step *s, int64_t b, int64_t u)
{
    load_products(pre, s, b, u);
    load_others(pre + PLANES - PEEPHOLES - ATTENTION, s->peepholes, s->attention, b, u,
                s->hidden_size);
}

/* The cell on row b and unit u of a step of forward, whose h and c it replaces; h' as stored. */
INLINE storage forward_element(const forward_step *s, const real *scalars, int64_t b, int64_t u)
{
    storage *output = (storage *)s->output, *y = (storage *)s->y, *keep = (storage *)s->saved;
    real *h = (real *)s->h, *c = (real *)s->c, *cells = (real *)s->cells;
    const int64_t e = b * s->hidden_size + u;
    real pre[MOST_PLANES], saved[MOST_PLANES], next[2];
    const real prev[2] = {h ? h[e] : zero, STATES > 1 ? c[e] : zero};
    load_planes(pre, s, b, u);
    cell_forward(scalars, pre, prev, next, saved);
    const storage stored = to_storage(next[0]);
    if (h)
        h[e] = next[0];
    output[b * s->output_row + u] = stored;
    if (y)
        y[b * s->y_row + u] = stored;
    if (STATES > 1)
        c[e] = next[1];
    if (STATES > 1 && cells)
        cells[e] = next[1];
    if (keep)
        for (int v = 0; v < SAVED; v++)
            keep[(b * SAVED + v) * s->hidden_size + u] = to_storage(saved[v]);
    return stored;
}

/* What the output's user passes back: dy, or what dropout let through of it. */
INLINE real load_dy(const backward_step *s, int64_t b, int64_t u)
{
    const real dy = read_or_zero(s->dy, b * s->dy_row + u);
    const uint8_t *mask = (const uint8_t *)s->mask;
    if (!mask)
        return dy;
    return mask[b * s->mask_row + u] ? dy * (real)s->scale : zero;
}

/* The states before and after the step. Cells differ in which of these they read; the compiler
 * drops the rest. */
INLINE void load_states_around(real *prev, real *next, const backward_step *s, int64_t b, int64_t u)
{
    const int64_t e = b * s->hidden_size + u, output_at = b * s->output_row + u;
    const int64_t initial = (s->order ? s->order[b] : b) * s->hidden_size + u;
    const int goes_on = b < s->before_rows;
    next[0] = to_real(((const storage *)s->output)[output_at]);
    prev[0] = goes_on ? to_real(((const storage *)s->output_before)[output_at])
                      : read_or_zero(s->hx, initial);
    if (STATES > 1) {
        next[1] = ((const real *)s->cells)[e];
        prev[1] = goes_on ? ((const real *)s->cells_before)[e] : read_or_zero(s->cx, initial);
    }
}

/* What forward kept, and what is no product. */
INLINE void load_saved(real *saved, const backward_step *s, int64_t b, int64_t u)
{
    for (int v = 0; v < SAVED; v++)
        saved[v] = to_real(((const storage *)s->saved)[(b * SAVED + v) * s->hidden_size + u]);
    load_others(saved + SAVED, s->peepholes, s->attention, b, u, s->hidden_size);
}

/* The cell on row b and unit u of a step of backward data. dh becomes what passes to the step
 * before directly, without the product that is made of dgates. An element of dy is read before
 * dgates is written. `passed` (PLANES,) gets dgates as stored; nothing for a row that has ended. */
INLINE void backward_element(const backward_step *s, const real *scalars, int64_t b, int64_t u,
                             storage *passed)
{
    const real *products = (const real *)s->products;
    real *dh = (real *)s->dh, *dc = (real *)s->dc;
    storage *dgates = (storage *)s->dgates;
    const int64_t e = b * s->hidden_size + u;
    const real from_after = dh[e] + (b < s->product_rows ? products[e] : zero);
    if (b >= s->rows) {
        dh[e] = from_after;
        return;
    }
    real saved[MOST_PLANES], dpre[MOST_PLANES], prev[2], next[2], dprev[2];
    const real dnext[2] = {from_after + load_dy(s, b, u), STATES > 1 ? dc[e] : 0};
    load_saved(saved, s, b, u);
    load_states_around(prev, next, s, b, u);
    cell_backward(scalars, saved, prev, next, dnext, dpre, dprev);
    dh[e] = dprev[0];
    if (STATES > 1)
        dc[e] = dprev[1];
    for (int plane = 0; plane < PLANES; plane++) {
        passed[plane] = to_storage(dpre[plane]);
        dgates[b * s->dgates_row + position_of(s->position, plane) * s->hidden_size + u] =
            passed[plane];
    }
}
