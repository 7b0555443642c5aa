/* grid_backward.cu: the steps of backward data on the whole grid, see grid.h. What blocks exchange
 * are the gradients of all gates. */
#define UNIT_PLANES 1
#include "grid.h"

/* What a thread has of a tile of rows, of which `rows` take part in a step, `after` in the one
 * handled before. */
INLINE void load_tile(backward_given *given, const backward_step *s, const grid_block *in,
                      const matrix_slices *m, int first_row)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const grid_element at = element_of(in, m, i);
        const int b = first_row + at.row, u = in->first_unit + at.unit;
        if (at.is_there && (b < s->rows || b < s->product_rows))
            load_backward_given(&given[i], s, b, u);
    }
}

/* The cell on a tile of rows, whose gates' gradients the next step gets. */
INLINE void finish_tile(const backward_given *given, const backward_step *s, const real *scalars,
                        const grid_block *in, const matrix_slices *m, const real *sums, exchange *x,
                        const block_exchange *g, uint32_t step, int first_row)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const grid_element at = element_of(in, m, i);
        const int b = first_row + at.row, u = in->first_unit + at.unit;
        storage passed[PLANES];
        for (int plane = 0; plane < PLANES; plane++)
            passed[plane] = 0;
        if (at.is_there && (b < s->rows || b < s->product_rows)) {
            real product = zero;
            if (b < s->product_rows)
#if SHARES > 1
                product = product_of_shares(x, g, m, step, b, u);
#else
                product = slice_product(sums, m, at.row, at.unit);
#endif
            run_backward_cell(s, scalars, &given[i], product, b, u, passed);
        }
        for (int gate = 0; gate < GATES; gate++)
            hand_on(x, step + 1, b, position_of(s->position, gate) * m->k_width + u, passed[gate],
                    at.is_there && b < s->rows);
    }
}

/* How many of the sequences from `first` on take part in step t of a launch. */
INLINE int rows_of_launch(const block_steps *p, int64_t first, int t)
{
    return t < p->low || t >= p->high ? 0 : rows_of_step(p, first, t);
}

/* What blocks do `step` steps after a launch's first, for the sequences from `first` on: nothing is
 * kept from one step to the next, for registers are for the matrix. */
INLINE backward_step step_of_rows(const grid_backward_blocks *of, int64_t first, int step)
{
    const block_steps *p = &of->steps;
    const int t = (int)(p->reverse ? p->low + step : p->high - 1 - step);
    const int from = p->reverse ? t + 1 : t - 1, before = rows_of_step(p, first, from);
    backward_step s = backward_rows(&of->step, p, first, first_row_of_step(p, first, t),
                                    first_row_of_step(p, first, from));
    s.rows = rows_of_launch(p, first, t);
    s.product_rows = rows_of_launch(p, first, p->reverse ? t - 1 : t + 1);
    s.before_rows = before < s.rows ? before : s.rows;
    return s;
}

/* The steps [low, high) of backward data, against forward's order, of a run for each row of the
 * grid. A step is as for a single one, but for all rows; its real gradients of states (batch, H)
 * are read and overwritten. */
BLOCK_KERNEL FN(grid_backward)(LAUNCHED(grid_backward_launch) launch)
{
    DYNAMIC_SHARED(memory);
    const grid_backward_blocks *of = &launch.run[RUN];
    const block_steps *p = &of->steps;
    const matrix_slices *m = &of->matrix;
    const grid_block in = grid_block_of(memory, p, m);
    const real scalars[] = SCALARS_OF(of->step);
    exchange x = exchange_of(&of->exchange, m, &in);
    fragment resident[RESIDENT];
    load_slice(m, in.part, resident, in.fragments);
    begin_exchange(&x);
    uint32_t count = 0; /* of tiles multiplied: a barrier each */
    /* One step more than there are: it only adds the last products. */
    for (int step = 0; step <= p->high - p->low; step++) {
        if (turn(&x, step)) {
            clear_own(&x, &in, m, step, p->capacity);
#if SHARES > 1
            clear_own_sums(&x, &of->exchange, m, in.part, step, p->capacity);
#endif
        }
        for (int b = 0;; b += TILE_ROWS) {
            backward_given given[ELEMENTS];
            const backward_step ahead = step_of_rows(of, in.first, step);
            const int after = ahead.product_rows;
            if (b >= ahead.rows && b >= after)
                break;
            real *sums = place_of_sums(&in, m, (b < after ? count++ : count) % PLACES);
            if (PLACES == 2)
                load_tile(given, &ahead, &in, m, b);
            if (b < after)
                multiply_slice(sums, m, in.part, &x, step, b / TILE_ROWS, after - b, resident,
                               in.fragments);
            const backward_step s = step_of_rows(of, in.first, anew(step));
#if SHARES > 1
            hand_on_sums(sums, &x, &of->exchange, m, in.part, step, b, s.product_rows - b);
#endif
            if (PLACES == 1) /* there were no registers before */
                load_tile(given, &s, &in, m, b);
            find_again(&x, &of->exchange, m, &in);
            finish_tile(given, &s, scalars, &in, m, sums, &x, &of->exchange, step, b);
        }
    }
    end_exchange(&x);
}
