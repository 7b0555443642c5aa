/* steps.cu: many steps of a layer in one launch. A block takes a tile of sequences through all of
 * them in one run, a direction or a layer; its recurrent matrix, their states and the products of a
 * step never leave it.
 *
 * A step is a product (matrix.h) and the cell on every row and unit (../pointwise.h, which says
 * what the compiling side defines), each behind a barrier. What the cells read from device memory
 * is asked for one element of a thread ahead. Blocks know nothing of each other: any number of them
 * may run at a time. */
#include "matrix.h"

#include "../pointwise.h"

/* Put a matrix in the order in which blocks load it. */
KERNEL FN(gather_fragments)(block_matrix m)
{
    EACH(i, WARPS * m.tiles_per_warp * 2 * LANES)
        ((words *)m.fragments)[i] = gather_words(&m, (int)(i / LANES), (int)(i % LANES));
}

/* Shared memory of a block. */
typedef struct {
    words *fragments;
    input *inputs; /* of capacity rows */
    real *sums;    /* (slots, capacity, N) */
    real *h, *c;   /* (capacity, H): states, or their gradients; c only for a cell that has one */
} block_memory;

INLINE block_memory block_memory_of(unsigned char *memory, const block_steps *p,
                                    const block_matrix *m)
{
    const int others = m->tiles_per_warp > RESIDENT ? m->tiles_per_warp - RESIDENT : 0;
    block_memory in;
    in.fragments = (words *)memory;
    in.inputs = (input *)(in.fragments + WARPS * others * 2 * LANES);
    in.sums = (real *)(in.inputs + INPUT_ROWS(p->capacity) * INPUTS_OF_ROW(m->depth_tiles));
    in.h = in.sums + m->slots * p->capacity * m->N;
    in.c = in.h + p->capacity * (int)p->hidden_size;
    return in;
}

/* The tile's rows that take part in a step: the first one, and how many. */
typedef struct {
    int64_t row;
    int count;
} tile_rows;

/* Those of step t of a tile of sequences from `first` on; none of a step that is not there. */
INLINE tile_rows rows_of_step(const block_steps *p, int64_t first, int64_t t)
{
    tile_rows of = {0, 0};
    if (t < 0 || t >= p->steps)
        return of;
    const int64_t begin = p->offsets[t], rows = p->offsets[t + 1] - begin - first;
    of.row = begin + first;
    of.count = (int)(rows < 0 ? 0 : rows < p->capacity ? rows : p->capacity);
    return of;
}

/* Take the tile's states from real (batch, H), c unless NULL; rows behind the batch are zero. */
INLINE void take_states(const block_memory *in, const block_steps *p, int64_t first, const void *h,
                        const void *c)
{
    const int H = (int)p->hidden_size;
    for (int e = threadIdx.x; e < p->capacity * H; e += THREADS) {
        const int64_t at = first * H + e;
        const int is_there = first + e / H < p->batch;
        in->h[e] = is_there ? ((const real *)h)[at] : zero;
        if (STATES > 1)
            in->c[e] = is_there ? ((const real *)c)[at] : zero;
    }
}

INLINE void give_states(const block_memory *in, const block_steps *p, int64_t first, void *h,
                        void *c)
{
    const int H = (int)p->hidden_size;
    for (int e = threadIdx.x; e < p->capacity * H && first + e / H < p->batch; e += THREADS) {
        ((real *)h)[first * H + e] = in->h[e];
        if (STATES > 1)
            ((real *)c)[first * H + e] = in->c[e];
    }
}

/* All inputs, those behind K too, and all slots. */
INLINE void clear(const block_memory *in, const block_steps *p, const block_matrix *m)
{
    const int inputs = INPUT_ROWS(p->capacity) * INPUTS_OF_ROW(m->depth_tiles);
    for (int i = threadIdx.x; i < inputs; i += THREADS)
        in->inputs[i] = 0;
    for (int i = threadIdx.x; i < m->slots * p->capacity * m->N; i += THREADS)
        in->sums[i] = 0;
}

/* An element of an array; NULL stays NULL. */
INLINE storage *storage_at(const void *array, int64_t at)
{
    return array ? (storage *)array + at : 0;
}

INLINE real *real_at(const void *array, int64_t at) { return array ? (real *)array + at : 0; }

/* A step on a tile's rows, of which `all` has all arrays from row 0 on. */
INLINE forward_step forward_of_rows(const forward_step *all, const block_memory *in, tile_rows rows)
{
    const int64_t H = all->hidden_size, row = rows.row;
    forward_step s = *all;
    s.output = storage_at(all->output, row * all->output_row);
    s.y = storage_at(all->y, row * all->y_row);
    s.cells = real_at(all->cells, row * H);
    s.saved = storage_at(all->saved, row * SAVED * H);
    s.attention = storage_at(all->attention, row);
    s.h = in->h;
    s.c = in->c;
    s.h_products = in->sums;
    s.rows = s.h_rows = rows.count;
    return s;
}

/* What element e of a tile's rows is given. */
INLINE void load_given_of(real *given, const forward_step *all, tile_rows rows, int e)
{
    const int H = (int)all->hidden_size;
    if (e < rows.count * H)
        load_given(given, all, rows.row + e / H, e % H);
}

/* The cells of a step on a tile's rows, behind its products. `ahead` has what a thread's first
 * element is given, and gets the same for the rows of the step that comes next: what is in memory
 * is on its way while the element before, or the next product, is worked on. */
INLINE void forward_cells(const forward_blocks *of, const block_memory *in, const real *scalars,
                          tile_rows rows, tile_rows next, real *ahead)
{
    const forward_step s = forward_of_rows(&of->step, in, rows);
    const block_matrix *m = &of->matrix;
    const int H = (int)of->steps.hidden_size, capacity = of->steps.capacity;
    for (int e = threadIdx.x, more = 1; more; e += THREADS) {
        real given[GATES];
        for (int g = 0; g < GATES; g++)
            given[g] = ahead[g];
        more = e + THREADS < rows.count * H;
        load_given_of(ahead, &of->step, more ? rows : next, more ? e + THREADS : threadIdx.x);
        if (e < rows.count * H) {
            const int b = e / H, u = e % H;
            for (int g = 0; g < GATES; g++)
                add_slots(m, in->sums, b, g * H + u, capacity);
            put_input(in->inputs, m, b, u, forward_element(&s, scalars, given, b, u));
        }
    }
}

/* The steps [low, high) of forward, of a run for each row of the grid. A step is as for a single
 * one, but for all rows; its real states (batch, H) are read and overwritten. The matrix is (H, G *
 * H). */
BLOCK_KERNEL FN(persistent_forward)(LAUNCHED(forward_launch) launch)
{
    DYNAMIC_SHARED(memory);
    const forward_blocks *of = &launch.run[blockIdx.y];
    const block_steps *p = &of->steps;
    const block_matrix *m = &of->matrix;
    const block_memory in = block_memory_of(memory, p, m);
    const int64_t first = (int64_t)blockIdx.x * p->capacity;
    const int H = (int)p->hidden_size;
    const real scalars[] = SCALARS_OF(of->step);
    fragment resident[RESIDENT];
    load_matrix(m, resident, in.fragments);
    clear(&in, p, m);
    take_states(&in, p, first, of->step.h, of->step.c);
    __syncthreads();
    for (int e = threadIdx.x; e < p->capacity * H; e += THREADS)
        put_input(in.inputs, m, e / H, e % H, to_storage(in.h[e]));
    const int64_t forth = p->reverse ? -1 : 1;
    int64_t t = p->reverse ? p->high - 1 : p->low;
    tile_rows rows = rows_of_step(p, first, t);
    real ahead[GATES];
    load_given_of(ahead, &of->step, rows, threadIdx.x);
    __syncthreads();
    for (int64_t left = p->high - p->low; left > 0; left--, t += forth) {
        const tile_rows next = rows_of_step(p, first, left > 1 ? t + forth : -1);
        if (rows.count)
            multiply(m, resident, in.fragments, in.inputs, in.sums, rows.count, p->capacity);
        __syncthreads();
        forward_cells(of, &in, scalars, rows, next, ahead);
        __syncthreads();
        rows = next;
    }
    give_states(&in, p, first, of->step.h, of->step.c);
}

/* A step on a tile's rows, of which `after` took part in the step handled before. */
INLINE backward_step backward_of_rows(const backward_step *all, const block_memory *in,
                                      tile_rows rows, int after)
{
    backward_step s = *all;
    s.dgates = storage_at(all->dgates, rows.row * all->dgates_row);
    s.attention = storage_at(all->attention, rows.row);
    s.dh = in->h;
    s.dc = in->c;
    s.products = in->sums;
    s.rows = rows.count;
    s.product_rows = after;
    return s;
}

/* What element e of a tile's rows reads; `before` are those of the step that forward ran before. */
INLINE void load_backward_of(backward_inputs *to, const backward_step *all, int64_t first,
                             tile_rows rows, tile_rows before, int e)
{
    const int H = (int)all->hidden_size, b = e / H;
    if (b < rows.count)
        load_backward(to, all, rows.row + b, b < before.count ? before.row + b : -1, first + b,
                      e % H);
}

/* The cells of a step on a tile's rows, behind the products of the `after` rows of the step handled
 * before. `ahead` is as in forward_cells; forward ran the rows `before` and, before these,
 * `further`.
 */
INLINE void backward_cells(const backward_blocks *of, const block_memory *in, const real *scalars,
                           int64_t first, int after, tile_rows rows, tile_rows before,
                           tile_rows further, backward_inputs *ahead)
{
    const backward_step s = backward_of_rows(&of->step, in, rows, after);
    const block_matrix *m = &of->matrix;
    const int H = (int)of->steps.hidden_size, capacity = of->steps.capacity;
    const int elements = (rows.count > after ? rows.count : after) * H;
    for (int e = threadIdx.x, more = 1; more; e += THREADS) {
        const backward_inputs now = *ahead;
        more = e + THREADS < elements;
        load_backward_of(ahead, &of->step, first, more ? rows : before, more ? before : further,
                         more ? e + THREADS : threadIdx.x);
        if (e < elements) {
            const int b = e / H, u = e % H;
            storage passed[PLANES];
            add_slots(m, in->sums, b, u, capacity);
            backward_element(&s, scalars, &now, b, u, passed);
            if (b < rows.count)
                for (int g = 0; g < GATES; g++)
                    put_input(in->inputs, m, b, position_of(s.position, g) * H + u, passed[g]);
        }
    }
}

/* The steps [low, high) of backward data, against forward's order, of a run for each row of the
 * grid. A step is as for a single one, but for all rows; its real gradients of states (batch, H)
 * are read and overwritten. The matrix is (G * H, H). */
BLOCK_KERNEL FN(persistent_backward)(LAUNCHED(backward_launch) launch)
{
    DYNAMIC_SHARED(memory);
    const backward_blocks *of = &launch.run[blockIdx.y];
    const block_steps *p = &of->steps;
    const block_matrix *m = &of->matrix;
    const block_memory in = block_memory_of(memory, p, m);
    const int64_t first = (int64_t)blockIdx.x * p->capacity;
    const real scalars[] = SCALARS_OF(of->step);
    fragment resident[RESIDENT];
    load_matrix(m, resident, in.fragments);
    clear(&in, p, m);
    take_states(&in, p, first, of->step.dh, of->step.dc);
    const int64_t forth = p->reverse ? 1 : -1; /* to the step that forward ran before */
    int64_t t = p->reverse ? p->low : p->high - 1;
    tile_rows rows = rows_of_step(p, first, t), before = rows_of_step(p, first, t + forth);
    backward_inputs ahead;
    load_backward_of(&ahead, &of->step, first, rows, before, threadIdx.x);
    __syncthreads();
    int after = 0; /* rows of the step handled before */
    /* One step more than there are: it only adds the last products. */
    for (int64_t left = p->high - p->low + 1; left > 0; left--, t += forth) {
        const tile_rows further = rows_of_step(p, first, t + 2 * forth);
        if (after)
            multiply(m, resident, in.fragments, in.inputs, in.sums, after, p->capacity);
        __syncthreads();
        backward_cells(of, &in, scalars, first, after, rows, before, further, &ahead);
        __syncthreads();
        after = rows.count;
        rows = left > 2 ? before : rows_of_step(p, first, -1);
        before = further;
    }
    give_states(&in, p, first, of->step.dh, of->step.dc);
}
