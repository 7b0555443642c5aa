/* grid_forward.cu: the steps of forward on the whole grid, see grid.h. Whatever a step needs but
 * the products is loaded before these are made. */
#define UNIT_PLANES GATES
#include "grid.h"

/* Whether the matrix leaves registers for more than the products while these are made. */
#define HAS_REGISTERS (COLUMN_WARPS == 1)
#define KEEPS_BIASES (HAS_REGISTERS && COLUMN_TILES <= 8)
#define KEEPS_ROWS (HAS_REGISTERS && PLACES > 1 && COLUMN_TILES <= 8)

/* Biases of a thread's elements, by plane. */
typedef struct {
    real of[ELEMENTS][MOST_PLANES];
} grid_biases;

INLINE void load_all_biases(grid_biases *biases, const forward_step *s, const grid_block *in,
                            const grid_elements *all)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++)
        if (all->of[i] & (OF_EVEN_TILES | OF_ODD_TILES))
            load_biases(biases->of[i], s, in->first_unit + element_at(all, i, 0).unit);
}

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
        given->prev[0] = ((const real *)s->h)[behind(b, s->hidden_size) + u];
}

INLINE void load_tile(forward_given *given, const forward_step *s, const grid_block *in,
                      const grid_elements *all, int first_row, int rows, int next)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++)
        load_element(&given[i], s, in, element_at(all, i, first_row), first_row, rows, next);
}

/* The cell on a tile of rows, whose new h, or first one, the `next` rows of the next step get
 * before anything else is done. Without registers each element is loaded only now, and stored at
 * once. */
INLINE void run_tile(forward_results *results, forward_given *given, const forward_step *s,
                     const real *scalars, const grid_block *in, const grid_elements *all,
                     grid_biases *biases, const matrix_slices *m, const real *sums,
                     const exchange *x, uint32_t step, int first_row, int rows, int next)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const grid_element at = element_at(all, i, first_row);
        const int b = first_row + at.row, u = in->first_unit + at.unit;
        storage value = 0;
        results[i] = forward_results(); /* or it would be kept from one step to the next */
        if (!HAS_REGISTERS)
            load_element(&given[i], s, in, at, first_row, rows, next);
        if (at.is_there && b < rows) {
            real products[GATES], pre[MOST_PLANES];
            int columns[GATES];
            if (!KEEPS_BIASES)
                load_biases(biases->of[i], s, u);
            for (int g = 0; g < GATES; g++)
                columns[g] = position_of(s->position, g) * m->units + at.unit;
            slice_products(products, sums, m, at.row, columns, GATES);
            sum_products(pre, given[i].input, s, biases->of[i], products);
            cell_forward(scalars, pre, given[i].prev, results[i].next, results[i].saved);
            value = to_storage(results[i].next[0]);
        } else if (at.is_there && b < next) {
            value = to_storage(given[i].prev[0]);
        }
        hand_on(x, step + 1, b, u, value, at.is_there && b < next);
        if (!HAS_REGISTERS && at.is_there && b < rows)
            store_forward(s, results[i].next, results[i].saved, b, u);
    }
}

/* Store what the cell made of a tile of rows. */
INLINE void store_tile(const forward_results *results, const forward_step *s, const grid_block *in,
                       const grid_elements *all, int first_row, int rows)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const grid_element at = element_at(all, i, first_row);
        const int b = first_row + at.row;
        if (at.is_there && b < rows)
            store_forward(s, results[i].next, results[i].saved, b, in->first_unit + at.unit);
    }
}

/* What a thread keeps from step to step. */
typedef struct {
    grid_block in;
    grid_elements all;
    grid_biases biases;
    exchange x;
    uint32_t count; /* of tiles multiplied: a barrier each */
} forward_thread;

/* A step of the tile of rows from `b` on, of which `rows` take part, the first of all being `row`,
 * and `next` in the next step. What it is given is read anew: registers are for the matrix. */
INLINE void forward_tile(const grid_forward_launch *launch, forward_thread *own,
                         const fragment *resident, int step, int b, int row, int rows, int next)
{
    const grid_forward_blocks *of = &launch->run[RUN], *again = &launch->run[RUN_ANEW];
    const matrix_slices *m = &of->matrix;
    const grid_block *in = &own->in;
    forward_given given[ELEMENTS];
    forward_results results[ELEMENTS];
    real *sums = place_of_sums(in, m, (b < rows ? own->count++ : own->count) % PLACES);
    const forward_step before = forward_rows(&again->step, &again->steps, in->first, anew(row));
    if (HAS_REGISTERS)
        load_tile(given, &before, in, &own->all, b, rows, next);
    if (b < rows)
        multiply_slice(sums, m, in->part, &own->x, step, b / TILE_ROWS, rows - b, resident,
                       in->fragments);
    find_again(&own->x, &of->exchange, m, in);
    if (PLACES == 1)
        own->all = elements_of(in, m);
    run_tile(results, given, &before, of->scalars, in, &own->all, &own->biases, m, sums, &own->x,
             step, b, rows, next);
    if (HAS_REGISTERS) {
        const forward_step s = forward_rows(&again->step, &again->steps, in->first, anew(row));
        store_tile(results, &s, in, &own->all, b, rows);
    }
}

/* The steps [low, high) of forward, of a run for each row of the grid. A step is as for a single
 * one, but for all rows; its real states (batch, H) are read and overwritten. Step 0 of the
 * exchange is the first of these. */
BLOCK_KERNEL FN(grid_forward)(LAUNCHED(grid_forward_launch) launch)
{
    DYNAMIC_SHARED(memory);
    const grid_forward_blocks *of = &launch.run[RUN];
    const block_steps *p = &of->steps;
    forward_thread own;
    fragment resident[RESIDENT];
    own.in = grid_block_of(memory, p, &of->matrix);
    own.x = exchange_of(&of->exchange, &of->matrix, &own.in);
    own.all = elements_of(&own.in, &of->matrix);
    own.count = 0;
    load_slice(&of->matrix, own.in.part, resident, own.in.fragments);
    if (KEEPS_BIASES)
        load_all_biases(&own.biases, &of->step, &own.in, &own.all);
    begin_exchange(&own.x);
    const int first = own.in.first, num_steps = (int)(p->high - p->low);
    const int forth = p->reverse ? -1 : 1;
    int t = (int)(p->reverse ? p->high : p->low - 1);
    step_rows now = {0, 0}, then = rows_of_step(p, first, t + forth);
    /* One step before the first: it only hands on the first states. */
    for (int step = -1; step < num_steps; step++, t += forth) {
        const block_steps *steps = &launch.run[RUN_ANEW].steps;
        if (!KEEPS_ROWS) {
            now = rows_of_step(steps, first, step < 0 ? -1 : t);
            then = rows_of_step(steps, first, t + forth);
        }
        const step_range later = range_of_step(steps, KEEPS_ROWS ? t + 2 * forth : -1);
        const int next = step + 1 < num_steps ? then.count : 0;
        if (step > 0 && turn(&own.x, step))
            clear_own(&own.x, &own.in, &of->matrix, step, p->capacity);
        for (int b = 0; b < now.count || b < next; b += TILE_ROWS)
            forward_tile(&launch, &own, resident, step, b, now.row, now.count, next);
        now = then;
        then = rows_of(later, first, &p->capacity);
    }
    end_exchange(&own.x);
}
