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

/* The input product of each gate, or x itself. A step does not make them: they may be read before
 * it begins. */
INLINE void load_given(real *given, const forward_step *s, int64_t b, int64_t u)
{
    if (s->x_products) {
        const real *products = (const real *)s->x_products + b * GATES * s->hidden_size + u;
        for (int g = 0; g < GATES; g++)
            given[g] = products[position_of(s->position, g) * s->hidden_size];
    } else {
        const storage *x = (const storage *)s->x + b * s->x_row + u;
        for (int g = 0; g < GATES; g++)
            given[g] = to_real(x[position_of(s->position, g) * s->x_gate]);
    }
}

/* The sum of both products for most gates; for the others the recurrent one, and the input
 * product in its own plane. */
INLINE void add_products(real *pre, const real *given, const forward_step *s, int64_t b, int64_t u)
{
    const int input_plane[] = {INPUT_PLANE};
    const real *h_products = (const real *)s->h_products;
    for (int g = 0; g < GATES; g++) {
        const int64_t at = (b * GATES + position_of(s->position, g)) * s->hidden_size + u;
        const real input = given[g] + read_or_zero(s->input_bias[g], u);
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

/* All planes of pre-activations, from what load_given has read. */
INLINE void load_planes(real *pre, const real *given, const forward_step *s, int64_t b, int64_t u)
{
    add_products(pre, given, s, b, u);
    load_others(pre + PLANES - PEEPHOLES - ATTENTION, s->peepholes, s->attention, b, u,
                s->hidden_size);
}

/* Replace h and c of row b and unit u, and keep what is to be kept; h' as stored. */
INLINE storage store_forward(const forward_step *s, const real *next, const real *saved, int64_t b,
                             int64_t u)
{
    storage *output = (storage *)s->output, *y = (storage *)s->y, *keep = (storage *)s->saved;
    real *h = (real *)s->h, *c = (real *)s->c, *cells = (real *)s->cells;
    const int64_t e = b * s->hidden_size + u;
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

/* The cell on row b and unit u of a step of forward, with what load_given has read; h' as stored.
 */
INLINE storage forward_element(const forward_step *s, const real *scalars, const real *given,
                               int64_t b, int64_t u)
{
    const real *h = (const real *)s->h, *c = (const real *)s->c;
    const int64_t e = b * s->hidden_size + u;
    real pre[MOST_PLANES], saved[MOST_PLANES], next[2];
    const real prev[2] = {h ? h[e] : zero, STATES > 1 ? c[e] : zero};
    load_planes(pre, given, s, b, u);
    cell_forward(scalars, pre, prev, next, saved);
    return store_forward(s, next, saved, b, u);
}

/* What an element of backward reads that no step of backward makes, as it is in memory: it may be
 * read before the step begins, and nothing waits for it until it is used. Cells differ in which of
 * it they need; the compiler drops the rest. */
typedef struct {
    real c_before, c;
    storage h_before, h, saved[SAVED > 0 ? SAVED : 1], dy;
    uint8_t mask; /* whether dy counts */
} backward_inputs;

/* Those of unit u in row `row`. The states before it are those of row `before`, or, if that is
 * negative, the initial ones of sequence b. */
INLINE void load_backward(backward_inputs *in, const backward_step *s, int64_t row, int64_t before,
                          int64_t b, int64_t u)
{
    const storage *dy = (const storage *)s->dy, *hx = (const storage *)s->hx;
    const uint8_t *mask = (const uint8_t *)s->mask;
    in->dy = dy ? dy[row * s->dy_row + u] : 0;
    in->mask = mask ? mask[row * s->mask_row + u] : 1;
    for (int v = 0; v < SAVED; v++)
        in->saved[v] = ((const storage *)s->saved)[(row * SAVED + v) * s->hidden_size + u];
    in->h = ((const storage *)s->output)[row * s->output_row + u];
    if (STATES > 1)
        in->c = ((const real *)s->cells)[row * s->hidden_size + u];
    if (before >= 0) {
        in->h_before = ((const storage *)s->output_before)[before * s->output_row + u];
        if (STATES > 1)
            in->c_before = ((const real *)s->cells_before)[before * s->hidden_size + u];
    } else {
        const int64_t initial = (s->order ? s->order[b] : b) * s->hidden_size + u;
        in->h_before = hx ? hx[initial] : 0;
        if (STATES > 1)
            in->c_before = read_or_zero(s->cx, initial);
    }
}

/* The same as numbers: the planes that forward kept, with what is no product, and the states before
 * and after the step. */
INLINE void numbers_of(real *saved, real *prev, real *next, const backward_inputs *in,
                       const backward_step *s, int64_t b, int64_t u)
{
    for (int v = 0; v < SAVED; v++)
        saved[v] = to_real(in->saved[v]);
    load_others(saved + SAVED, s->peepholes, s->attention, b, u, s->hidden_size);
    prev[0] = to_real(in->h_before);
    next[0] = to_real(in->h);
    if (STATES > 1) {
        prev[1] = in->c_before;
        next[1] = in->c;
    }
}

/* dy, or what dropout let through of it. */
INLINE real real_dy(const backward_inputs *in, const backward_step *s)
{
    const real dy = to_real(in->dy);
    if (!s->mask)
        return dy;
    return in->mask ? dy * (real)s->scale : zero;
}

/* What the cell makes on a row and unit of a step of backward data. */
typedef struct {
    real dprev[2];          /* what passes to the step before directly, without the product of */
    storage passed[PLANES]; /* dgates as stored */
} backward_results;

/* The cell of a row and unit whose step gave `dnext`, with what load_backward has read. */
INLINE void run_backward(backward_results *results, const backward_step *s, const real *scalars,
                         const backward_inputs *in, const real *dnext, int64_t b, int64_t u)
{
    real saved[MOST_PLANES], prev[2], next[2], dpre[MOST_PLANES];
    numbers_of(saved, prev, next, in, s, b, u);
    cell_backward(scalars, saved, prev, next, dnext, dpre, results->dprev);
    for (int plane = 0; plane < PLANES; plane++)
        results->passed[plane] = to_storage(dpre[plane]);
}

INLINE void store_backward(const backward_step *s, const backward_results *results, int64_t b,
                           int64_t u)
{
    storage *dgates = (storage *)s->dgates + b * s->dgates_row + u;
    const int64_t e = b * s->hidden_size + u;
    ((real *)s->dh)[e] = results->dprev[0];
    if (STATES > 1)
        ((real *)s->dc)[e] = results->dprev[1];
    for (int plane = 0; plane < PLANES; plane++)
        dgates[position_of(s->position, plane) * s->hidden_size] = results->passed[plane];
}

/* All of it; `passed` (PLANES,) gets dgates as stored. A row that has ended only adds its product
 * to dh, and passes nothing. */
INLINE void backward_element(const backward_step *s, const real *scalars, const backward_inputs *in,
                             int64_t b, int64_t u, storage *passed)
{
    const real *products = (const real *)s->products, *dc = (const real *)s->dc;
    real *dh = (real *)s->dh;
    const int64_t e = b * s->hidden_size + u;
    const real from_after = dh[e] + (b < s->product_rows ? products[e] : zero);
    if (b >= s->rows) {
        dh[e] = from_after;
        return;
    }
    const real dnext[2] = {from_after + real_dy(in, s), STATES > 1 ? dc[e] : zero};
    backward_results results;
    run_backward(&results, s, scalars, in, dnext, b, u);
    store_backward(s, &results, b, u);
    for (int plane = 0; plane < PLANES; plane++)
        passed[plane] = results.passed[plane];
}
