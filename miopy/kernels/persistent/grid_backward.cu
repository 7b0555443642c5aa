/* grid_backward.cu: the steps of backward data on the whole grid, see grid.h. What blocks exchange
 * are the gradients of all gates. */
#define UNIT_PLANES 1
#include "grid.h"

/* What a thread has of a tile of rows, of which `rows` take part in a step, `after` in the one
 * handled before. */
INLINE void load_tile(backward_given *given, const backward_step *s, const grid_element *elements,
                      const grid_block *in, int first_row)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const int b = first_row + elements[i].row, u = in->first_unit + elements[i].unit;
        if (elements[i].is_there && (b < s->rows || b < s->product_rows))
            load_backward_given(&given[i], s, b, u);
    }
}

/* The cell on a tile of rows, whose gates' gradients the next step gets. */
INLINE void finish_tile(const backward_given *given, const backward_step *s, const real *scalars,
                        const grid_element *elements, const grid_block *in, const matrix_slices *m,
                        const real *sums, const exchange *x, uint32_t step, int first_row)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const int row = elements[i].row, b = first_row + row;
        const int u = in->first_unit + elements[i].unit;
        storage passed[PLANES];
        for (int plane = 0; plane < PLANES; plane++)
            passed[plane] = 0;
        if (elements[i].is_there && (b < s->rows || b < s->product_rows)) {
            const real product =
                b < s->product_rows ? slice_product(sums, m, row, elements[i].unit) : zero;
            run_backward_cell(s, scalars, &given[i], product, b, u, passed);
        }
        for (int gate = 0; gate < GATES; gate++)
            hand_on(x, step + 1, b, position_of(s->position, gate) * m->k_width + u, passed[gate],
                    elements[i].is_there && b < s->rows);
    }
}

/* All steps of backward data, against forward's order. `all` is as for a step, but for all rows;
 * its real gradients of states (batch, H) are read and overwritten. */
BLOCK_KERNEL FN(grid_backward)(backward_step all, block_steps p, matrix_slices m, block_exchange g)
{
    DYNAMIC_SHARED(memory);
    const grid_block in = grid_block_of(memory, &p, &m);
    const real scalars[] = SCALARS_OF(all);
    exchange x = exchange_of(&g, &m, &in);
    fragment resident[RESIDENT];
    grid_element elements[ELEMENTS];
    load_slice(&m, in.part, resident, in.fragments);
    place_elements(elements, &in, &m);
    begin_exchange(&x);
    int after = 0;      /* rows of the step handled before */
    uint32_t count = 0; /* of tiles multiplied: a barrier each */
    /* One step more than there are: it only adds the last products. */
    for (int step = 0; step <= p.steps; step++) {
        const int t = (int)(p.reverse ? step : p.steps - 1 - step),
                  from = p.reverse ? t + 1 : t - 1;
        const int rows = rows_of_step(&p, in.first, t), before = rows_of_step(&p, in.first, from);
        const int row = first_row_of_step(&p, in.first, t);
        const int row_before = first_row_of_step(&p, in.first, from);
        if (turn(&x, step))
            clear_own(&x, &in, &m, step, p.capacity);
        for (int b = 0; b < rows || b < after; b += TILE_ROWS) {
            backward_given given[ELEMENTS];
            real *sums = sums_of_tile(&in, &m, b < after ? count++ : count);
            backward_step s = backward_rows(&all, &p, in.first, row, row_before);
            s.rows = rows;
            s.product_rows = after;
            s.before_rows = before < rows ? before : rows;
            load_tile(given, &s, elements, &in, b);
            if (b < after)
                multiply_slice(sums, &m, &x, step, b / TILE_ROWS, after - b, resident,
                               in.fragments);
            s = backward_rows(&all, &p, in.first, anew(row), row_before);
            s.rows = rows;
            s.product_rows = after;
            finish_tile(given, &s, scalars, elements, &in, &m, sums, &x, step, b);
        }
        after = rows;
    }
    end_exchange(&x);
}
