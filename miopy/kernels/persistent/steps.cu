/* steps.cu: many steps of a recurrence in one launch. A block takes a tile of sequences through all
 * of them; its recurrent matrix, their states and the products of a step never leave it.
 *
 * A step is a product (matrix.h) and the cell on every row and unit (../pointwise.h, which says
 * what the compiling side defines), each behind a barrier. Blocks know nothing of each other: any
 * number of them may run at a time. */
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

/* How many of the tile's rows, from `first` on, take part in step t. */
INLINE int rows_of_step(const block_steps *p, int64_t first, int64_t t)
{
    if (t < 0 || t >= p->steps)
        return 0;
    const int64_t rows = p->offsets[t + 1] - p->offsets[t] - first;
    return (int)(rows < 0 ? 0 : rows < p->capacity ? rows : p->capacity);
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

/* The tile's rows of step t, of which `all` has all arrays from row 0 on, and x_products those of
 * the steps [low, high). */
INLINE forward_step forward_rows(const forward_step *all, const block_steps *p,
                                 const block_memory *in, int64_t first, int64_t t, int rows)
{
    const int64_t H = p->hidden_size, row = p->offsets[t] + first, ahead = row - p->offsets[p->low];
    forward_step s = *all;
    s.output = storage_at(all->output, row * all->output_row);
    s.y = storage_at(all->y, row * all->y_row);
    s.cells = real_at(all->cells, row * H);
    s.saved = storage_at(all->saved, row * SAVED * H);
    s.h = in->h;
    s.c = in->c;
    s.x_products = real_at(all->x_products, ahead * GATES * H);
    s.x = storage_at(all->x, row * all->x_row);
    s.h_products = in->sums;
    s.attention = storage_at(all->attention, row);
    s.rows = s.h_rows = rows;
    return s;
}

/* The steps [low, high) of forward. `all` is as for a step, but for all rows; its real states
 * (batch, H) are read and overwritten. m is (H, G * H). */
BLOCK_KERNEL FN(persistent_forward)(forward_step all, block_steps p, block_matrix m)
{
    DYNAMIC_SHARED(memory);
    const block_memory in = block_memory_of(memory, &p, &m);
    const int64_t first = (int64_t)blockIdx.x * p.capacity;
    const int H = (int)p.hidden_size;
    const real scalars[] = SCALARS_OF(all);
    fragment resident[RESIDENT];
    load_matrix(&m, resident, in.fragments);
    clear(&in, &p, &m);
    take_states(&in, &p, first, all.h, all.c);
    __syncthreads();
    for (int e = threadIdx.x; e < p.capacity * H; e += THREADS)
        put_input(in.inputs, &m, e / H, e % H, to_storage(in.h[e]));
    __syncthreads();
    for (int64_t step = p.low; step < p.high; step++) {
        const int64_t t = p.reverse ? p.low + p.high - 1 - step : step;
        const int rows = rows_of_step(&p, first, t);
        if (!rows)
            continue;
        multiply(&m, resident, in.fragments, in.inputs, in.sums, rows, p.capacity);
        __syncthreads();
        const forward_step s = forward_rows(&all, &p, &in, first, t, rows);
        for (int e = threadIdx.x; e < rows * H; e += THREADS) {
            const int b = e / H, u = e % H;
            for (int g = 0; g < GATES; g++)
                add_slots(&m, in.sums, b, g * H + u, p.capacity);
            put_input(in.inputs, &m, b, u, forward_element(&s, scalars, b, u));
        }
        __syncthreads();
    }
    give_states(&in, &p, first, all.h, all.c);
}

/* The tile's rows of step t of backward, where forward ran `before` rows of the step before it. */
INLINE backward_step backward_rows(const backward_step *all, const block_steps *p,
                                   const block_memory *in, int64_t first, int64_t t, int64_t from,
                                   int before)
{
    const int64_t H = p->hidden_size, row = p->offsets[t] + first;
    const int64_t row_before = before ? p->offsets[from] + first : 0;
    backward_step s = *all;
    s.dgates = storage_at(all->dgates, row * all->dgates_row);
    s.dh = in->h;
    s.dc = in->c;
    s.dy = storage_at(all->dy, row * all->dy_row);
    s.mask = all->mask ? (const uint8_t *)all->mask + row * all->mask_row : 0;
    s.products = in->sums;
    s.output = storage_at(all->output, row * all->output_row);
    s.cells = real_at(all->cells, row * H);
    s.saved = storage_at(all->saved, row * SAVED * H);
    s.output_before = storage_at(all->output, row_before * all->output_row);
    s.cells_before = real_at(all->cells, row_before * H);
    s.hx = all->order ? (storage *)all->hx : storage_at(all->hx, first * H);
    s.cx = all->order ? (storage *)all->cx : storage_at(all->cx, first * H);
    s.attention = storage_at(all->attention, row);
    s.order = all->order ? all->order + first : 0;
    s.before_rows = before;
    return s;
}

/* All steps of backward data, against forward's order. `all` is as for a step, but for all rows;
 * its real gradients of states (batch, H) are read and overwritten. m is (G * H, H). */
BLOCK_KERNEL FN(persistent_backward)(backward_step all, block_steps p, block_matrix m)
{
    DYNAMIC_SHARED(memory);
    const block_memory in = block_memory_of(memory, &p, &m);
    const int64_t first = (int64_t)blockIdx.x * p.capacity;
    const int H = (int)p.hidden_size;
    const real scalars[] = SCALARS_OF(all);
    fragment resident[RESIDENT];
    load_matrix(&m, resident, in.fragments);
    clear(&in, &p, &m);
    take_states(&in, &p, first, all.dh, all.dc);
    __syncthreads();
    int after = 0; /* rows of the step handled before */
    /* One step more than there are: it only adds the last products. */
    for (int64_t step = 0; step <= p.steps; step++) {
        const int64_t t = p.reverse ? step : p.steps - 1 - step, from = p.reverse ? t + 1 : t - 1;
        const int rows = rows_of_step(&p, first, t), before = rows_of_step(&p, first, from);
        if (!rows && !after)
            continue;
        if (after)
            multiply(&m, resident, in.fragments, in.inputs, in.sums, after, p.capacity);
        __syncthreads();
        backward_step s =
            backward_rows(&all, &p, &in, first, rows ? t : 0, from, before < rows ? before : rows);
        s.rows = rows;
        s.product_rows = after;
        for (int e = threadIdx.x; e < (rows > after ? rows : after) * H; e += THREADS) {
            const int b = e / H, u = e % H;
            storage passed[PLANES];
            add_slots(&m, in.sums, b, u, p.capacity);
            backward_element(&s, scalars, b, u, passed);
            if (b < rows)
                for (int g = 0; g < GATES; g++)
                    put_input(in.inputs, &m, b, position_of(s.position, g) * H + u, passed[g]);
        }
        __syncthreads();
        after = rows;
    }
    give_states(&in, &p, first, all.dh, all.dc);
}
