/* grid_forward.cu: the steps of forward on the whole grid, see grid.h. Whatever a step needs but
 * the products is loaded before these are made. */
#define UNIT_PLANES GATES
#include "grid.h"

/* Whether the matrix leaves registers for more than the products while these are made. */
#define HAS_REGISTERS (COLUMN_WARPS == 1)

/* What a thread has of a tile of rows, of which `rows` take part in a step. A row that does not yet
 * has its h. */
INLINE void load_element(forward_given *given, const forward_step *s, const grid_block *in,
                         grid_element at, int first_row, int rows, int next)
{
    given->prev[0] = given->prev[1] = zero;
    const int b = first_row + at.row, u = in->first_unit + at.unit;
    if (at.is_there && b < rows)
        load_forward_given(given, s, b, u);
    else if (at.is_there && b < next)
        given->prev[0] = ((const real *)s->h)[b * s->hidden_size + u];
}

INLINE void load_tile(forward_given *given, const forward_step *s, const grid_block *in,
                      const matrix_slices *m, int first_row, int rows, int next)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++)
        load_element(&given[i], s, in, element_of(in, m, i), first_row, rows, next);
}

/* The cell on a tile of rows, whose new h, or first one, the `next` rows of the next step get. */
INLINE void finish_tile(forward_given *given, const forward_step *s, const real *scalars,
                        const grid_block *in, const matrix_slices *m, const real *sums,
                        const exchange *x, uint32_t step, int first_row, int rows, int next)
{
    real pre[ELEMENTS][MOST_PLANES] = {};
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const grid_element at = element_of(in, m, i);
        real products[GATES];
        if (!HAS_REGISTERS)
            load_element(&given[i], s, in, at, first_row, rows, next);
        if (!at.is_there || first_row + at.row >= rows)
            continue;
        for (int g = 0; g < GATES; g++)
            products[g] =
                slice_product(sums, m, at.row, position_of(s->position, g) * m->units + at.unit);
        sum_products(pre[i], &given[i], products);
    }
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const grid_element at = element_of(in, m, i);
        const int b = first_row + at.row, u = in->first_unit + at.unit;
        const int is_run = at.is_there && b < rows;
        forward_results results;
        storage value = 0;
        if (!HAS_REGISTERS) /* or they would be kept from one step to the next */
            results = forward_results();
        if (is_run) {
            cell_forward(scalars, pre[i], given[i].prev, results.next, results.saved);
            value = to_storage(results.next[0]);
        } else if (at.is_there && b < next) {
            value = to_storage(given[i].prev[0]);
        }
        hand_on(x, step + 1, b, u, value, at.is_there && b < next);
        if (is_run)
            store_forward(s, results.next, results.saved, b, u);
    }
}

/* The steps [low, high) of forward, of a run for each row of the grid. A step is as for a single
 * one, but for all rows; its real states (batch, H) are read and overwritten. Step 0 of the
 * exchange is the first of these. */
BLOCK_KERNEL FN(grid_forward)(LAUNCHED(grid_forward_launch) launch)
{
    DYNAMIC_SHARED(memory);
    const grid_forward_blocks *of = &launch.run[RUN];
    const matrix_slices *m = &of->matrix;
    const grid_block in = grid_block_of(memory, &of->steps, m);
    const real scalars[] = SCALARS_OF(of->step);
    exchange x = exchange_of(&of->exchange, m, &in);
    fragment resident[RESIDENT];
    load_slice(m, in.part, resident, in.fragments);
    begin_exchange(&x);
    uint32_t count = 0; /* of tiles multiplied: a barrier each */
    /* One step before the first: it only hands on the first states. What a step is given is read
     * anew in each: registers are for the matrix. */
    for (int step = -1; step < of->steps.high - of->steps.low; step++) {
        const block_steps *p = &launch.run[RUN_ANEW].steps;
        const int t = (int)(p->reverse ? p->high - 1 - step : p->low + step);
        const int is_last = step + 1 == p->high - p->low;
        const int rows = step < 0 ? 0 : rows_of_step(p, in.first, t);
        const int next = is_last ? 0 : rows_of_step(p, in.first, p->reverse ? t - 1 : t + 1);
        const int row = first_row_of_step(p, in.first, t);
        if (step > 0 && turn(&x, step))
            clear_own(&x, &in, m, step, p->capacity);
        for (int b = 0; b < rows || b < next; b += TILE_ROWS) {
            forward_given given[ELEMENTS];
            real *sums = place_of_sums(&in, m, (b < rows ? count++ : count) % PLACES);
            const forward_step before = forward_rows(&of->step, p, in.first, row);
            if (HAS_REGISTERS)
                load_tile(given, &before, &in, m, b, rows, next);
            if (b < rows)
                multiply_slice(sums, m, in.part, &x, step, b / TILE_ROWS, rows - b, resident,
                               in.fragments);
            const forward_step s = forward_rows(&launch.run[RUN_ANEW].step, p, in.first, anew(row));
            find_again(&x, &of->exchange, m, &in);
            finish_tile(given, &s, scalars, &in, m, sums, &x, step, b, rows, next);
        }
    }
    end_exchange(&x);
}
