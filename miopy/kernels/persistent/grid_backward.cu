/* grid_backward.cu: the steps of backward data on the whole grid, see grid.h. What blocks exchange
 * are the gradients of all gates. */
#define UNIT_PLANES 1
#include "grid.h"

/* Whether the matrix leaves registers for more than the products while these are made. */
#define HAS_REGISTERS (PLACES > 1)

/* What a thread has of a tile of rows, of which `rows` take part in a step, `after` in the one
 * handled before. */
INLINE void load_tile(backward_given *given, const backward_step *s, const grid_block *in,
                      const grid_elements *all, int first_row)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const grid_element at = element_at(all, i, first_row);
        const int b = first_row + at.row, u = in->first_unit + at.unit;
        if (at.is_there && (b < s->rows || b < s->product_rows))
            load_backward_given(&given[i], s, b, u);
    }
}

/* The rows of a step, of the one that forward ran before, and how many of the one handled before.
 */
typedef struct {
    step_rows now, before;
    int after;
} backward_window;

/* The time of a step so many after a launch's first. */
INLINE int time_of(const block_steps *p, int step)
{
    return (int)(p->reverse ? p->low + step : p->high - 1 - step);
}

/* Those of such a step, for the sequences from `first` on. */
INLINE backward_window window_of(const block_steps *p, int first, int step)
{
    const step_rows none = {0, 0};
    backward_window at = {none, rows_of_step(p, first, time_of(p, step + 1)), 0};
    if (step < p->high - p->low)
        at.now = rows_of_step(p, first, time_of(p, step));
    if (step > 0)
        at.after = rows_of_step(p, first, time_of(p, step - 1)).count;
    return at;
}

/* Those of the next step; of the one that forward ran before that, `further` are all rows. */
INLINE backward_window next_window(backward_window at, step_range further, const block_steps *p,
                                   int first, int step)
{
    const step_rows none = {0, 0};
    const backward_window next = {step + 1 < p->high - p->low ? at.before : none,
                                  rows_of(further, first, &p->capacity), at.now.count};
    return next;
}

/* What blocks do there; addresses are found anew, for registers are for the matrix. */
INLINE backward_step step_of_rows(const grid_backward_blocks *of, int first,
                                  const backward_window *at)
{
    const int row = anew(at->now.row), before = anew(at->before.row);
    backward_step s = backward_rows(&of->step, &of->steps, first, row, before);
    s.rows = at->now.count;
    s.product_rows = at->after;
    s.before_rows = at->before.count < at->now.count ? at->before.count : at->now.count;
    return s;
}

/* Store what the cell made of an element. A row that has ended only adds its product to dh. */
INLINE void store_element(const backward_results *results, const backward_step *s,
                          const grid_block *in, grid_element at, int first_row)
{
    const int b = first_row + at.row, u = in->first_unit + at.unit;
    if (at.is_there && b < s->rows)
        store_backward(s, results, b, u);
    else if (at.is_there && b < s->product_rows)
        ((real *)s->dh)[behind(b, s->hidden_size) + u] = results->dprev[0];
}

/* The cell on a tile of rows, whose gates' gradients the next step gets before anything else is
 * done; without registers, once they are stored. */
INLINE void run_tile(backward_results *results, const backward_given *given, const backward_step *s,
                     const grid_backward_blocks *of, const grid_block *in, const grid_elements *all,
                     const real *sums, exchange *x, uint32_t step, int first_row)
{
    const matrix_slices *m = &of->matrix;
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const grid_element at = element_at(all, i, first_row);
        const int b = first_row + at.row, u = in->first_unit + at.unit;
        const int is_run = at.is_there && b < s->rows;
        results[i] = backward_results();
        real product = zero;
        if (at.is_there && b < s->product_rows)
#if SHARES > 1
            product = product_of_shares(x, &of->exchange, m, step, b, u);
#else
            product = slice_product(sums, m, at.row, at.unit);
#endif
        results[i].dprev[0] = given[i].dh + product;
        if (is_run) {
            const real dy = real_dy(&given[i].read, s);
            const real dnext[2] = {results[i].dprev[0] + dy, given[i].dc};
            run_backward(&results[i], s, of->scalars, &given[i].read, dnext, b, u);
        }
        if (!HAS_REGISTERS)
            store_element(&results[i], s, in, at, first_row);
        for (int gate = 0; gate < GATES; gate++)
            hand_on(x, step + 1, b, position_of(s->position, gate) * m->k_width + u,
                    results[i].passed[gate], is_run);
    }
}

/* What a thread keeps from step to step. */
typedef struct {
    grid_block in;
    grid_elements all;
    exchange x;
    backward_window at;
    uint32_t count; /* of tiles multiplied: a barrier each */
} backward_thread;

/* A step of the tile of rows from `b` on. */
INLINE void backward_tile(const grid_backward_blocks *of, backward_thread *own,
                          const fragment *resident, int step, int b)
{
    const matrix_slices *m = &of->matrix;
    const grid_block *in = &own->in;
    backward_given given[ELEMENTS];
    backward_results results[ELEMENTS];
    const int after = own->at.after;
    real *sums = place_of_sums(in, m, (b < after ? own->count++ : own->count) % PLACES);
    if (HAS_REGISTERS) {
        const backward_step ahead = step_of_rows(of, in->first, &own->at);
        load_tile(given, &ahead, in, &own->all, b);
    }
    if (b < after)
        multiply_slice(sums, m, in->part, &own->x, step, b / TILE_ROWS, after - b, resident,
                       in->fragments);
    if (!HAS_REGISTERS) {
        own->at = window_of(&of->steps, in->first, anew(step));
        own->all = elements_of(in, m);
    }
#if SHARES > 1
    hand_on_sums(sums, &own->x, &of->exchange, m, in->part, step, b, own->at.after - b);
#endif
    const backward_step now = step_of_rows(of, in->first, &own->at);
    if (!HAS_REGISTERS)
        load_tile(given, &now, in, &own->all, b);
    find_again(&own->x, &of->exchange, m, in);
    run_tile(results, given, &now, of, in, &own->all, sums, &own->x, step, b);
    if (HAS_REGISTERS) {
        const backward_step s = step_of_rows(of, in->first, &own->at);
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++)
            store_element(&results[i], &s, in, element_at(&own->all, i, b), b);
    }
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
    backward_thread own;
    fragment resident[RESIDENT];
    own.in = grid_block_of(memory, p, m);
    own.x = exchange_of(&of->exchange, m, &own.in);
    own.all = elements_of(&own.in, m);
    own.at = window_of(p, own.in.first, 0);
    own.count = 0;
    load_slice(m, own.in.part, resident, own.in.fragments);
    begin_exchange(&own.x);
    /* One step more than there are: it only adds the last products. */
    for (int step = 0; step <= p->high - p->low; step++) {
        const step_range further = range_of_step(p, HAS_REGISTERS ? time_of(p, step + 2) : -1);
        if (turn(&own.x, step)) {
            clear_own(&own.x, &own.in, m, step, p->capacity);
#if SHARES > 1
            clear_own_sums(&own.x, &of->exchange, m, own.in.part, step, p->capacity);
#endif
        }
        for (int b = 0; b < own.at.now.count || b < own.at.after; b += TILE_ROWS)
            backward_tile(of, &own, resident, step, b);
        own.at = HAS_REGISTERS ? next_window(own.at, further, p, own.in.first, step)
                               : window_of(p, own.in.first, step + 1);
    }
    end_exchange(&own.x);
}
