/* steps.cu: many steps of a layer in one launch. A block takes a tile of sequences through all of
 * them in one run, a direction or a layer; its recurrent matrix never leaves it.
 *
 * A step is a product (matrix.h) and the cell on every row and unit (../pointwise.h, which says
 * what the compiling side defines), whose states stay with the thread that has its products. What
 * the next product needs goes into the other half of the inputs, so that one barrier is enough, and
 * is there before anything else is stored: that waits for the next product, if there are registers.
 * What a step reads from device memory is asked for a step before. Blocks know nothing of each
 * other: any number of them may run at a time. */
#include "walk.h"

/* Whether the matrix leaves registers for what a step reads, from the step before on; else it is
 * asked for before the product. And for what it makes, until the next product. */
#define LOADS_AHEAD (UNIT_TILES == 1)
#define STORES_LATER (LOADS_AHEAD && ROWS <= 4)

/* Put a matrix in the order in which blocks load it. */
KERNEL FN(gather_fragments)(LAUNCHED(block_matrix) m)
{
    EACH(i, WARPS * TILES_OF(UNIT_TILES) * LANES) {
        const int tile = (int)i / LANES;
        ((words *)m.fragments)[i] = gather_words(&m, tile / TILES_OF(UNIT_TILES),
                                                 tile % TILES_OF(UNIT_TILES), (int)i % LANES);
    }
}

/* Shared memory of a block: tiles of the matrix, biases (WIDTH, PLANES) in forward, see
 * load_biases, and inputs, of this step and the next. */
typedef struct {
    words *tiles;
    real *biases;
    input *inputs;
} block_memory;

INLINE block_memory block_memory_of(unsigned char *memory, int planes, int depth_tiles)
{
    block_memory in;
    in.biases = (real *)((words *)memory + SHARED_TILES * LANES);
    in.inputs = (input *)(in.biases + planes * WIDTH);
    in.tiles = own_tiles((words *)memory);
    for (int i = threadIdx.x; i < 2 * NUM_INPUTS(depth_tiles); i += THREADS)
        in.inputs[i] = 0;
    return in;
}

/* Arrays of forward from a thread's first element on, in row 0; those that are NULL stay so. */
typedef struct {
    const real *x_products[GATES];
    storage *output, *y, *saved[SAVED > 0 ? SAVED : 1];
    real *cells;
    int hidden_size, has_products, has_y, has_cells, has_saved;
} forward_arrays;

INLINE forward_arrays forward_arrays_of(const forward_step *s, int unit)
{
    const int H = anew((int)s->hidden_size);
    forward_arrays arrays;
    arrays.hidden_size = H;
    arrays.has_products = anew(s->x_products != 0);
    arrays.has_y = anew(s->y != 0);
    arrays.has_cells = anew(s->cells != 0);
    arrays.has_saved = anew(s->saved != 0);
    for (int g = 0; g < GATES; g++)
        arrays.x_products[g] = real_at(s->x_products, position_of(s->position, g) * H + unit);
    arrays.output = storage_at(s->output, unit);
    arrays.y = storage_at(s->y, unit);
    arrays.cells = real_at(s->cells, unit);
    for (int v = 0; v < SAVED; v++)
        arrays.saved[v] = storage_at(s->saved, v * H + unit);
    return arrays;
}

/* Those that are kept, or anew. */
INLINE forward_arrays forward_arrays_again(const forward_step *s, const forward_arrays *kept)
{
    return LOADS_AHEAD ? *kept : forward_arrays_of(s, anew(unit_of_element(0, 0)));
}

/* How far behind a thread's first unit that of another element is. */
INLINE int units_behind(int unit_tile, int i)
{
    return unit_of_element(unit_tile, i) - unit_of_element(0, 0);
}

/* What a thread's elements of a tile of units are given, as it is in memory. */
typedef struct {
    uint32_t of[ELEMENTS][GATES];
} unit_inputs;

INLINE void load_unit_inputs(unit_inputs *to, const forward_step *s, const forward_arrays *arrays,
                             step_rows rows, int unit_tile)
{
    const int H = arrays->hidden_size;
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const int b = row_of_element(i), unit = unit_of_element(unit_tile, i), row = rows.row + b;
        if (b >= rows.count || unit >= H)
            continue;
        const storage *x = (const storage *)s->x + row * s->x_row + unit;
        for (int g = 0; g < GATES; g++)
            if (arrays->has_products) {
                const void *of = in_row(arrays->x_products[g], row, GATES * H * (int)sizeof(real));
                to->of[i][g] = bits_of_f32(((const real *)of)[units_behind(unit_tile, i)]);
            } else {
                to->of[i][g] = bits_of_storage(x[position_of(s->position, g) * s->x_gate]);
            }
    }
}

/* What forward keeps of a thread's elements of a tile of units. */
typedef struct {
    storage of[ELEMENTS][SAVED > 0 ? SAVED : 1];
} unit_saved;

/* Store those, and the states, of the rows of a step. */
INLINE void store_units(const forward_step *s, const forward_arrays *arrays,
                        const real (*states)[2], const unit_saved *saved, step_rows rows,
                        int unit_tile)
{
    const int H = arrays->hidden_size;
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const int b = row_of_element(i), row = rows.row + b, behind = units_behind(unit_tile, i);
        if (b >= rows.count || unit_of_element(unit_tile, i) >= H)
            continue;
        const storage h = to_storage(states[i][0]);
        arrays->output[row * s->output_row + behind] = h;
        if (arrays->has_y)
            arrays->y[row * s->y_row + behind] = h;
        if (STATES > 1 && arrays->has_cells)
            ((real *)in_row(arrays->cells, row, H * (int)sizeof(real)))[behind] = states[i][1];
        if (arrays->has_saved)
            for (int v = 0; v < SAVED; v++) {
                const int row_nbytes = SAVED * H * (int)sizeof(storage);
                ((storage *)in_row(arrays->saved[v], row, row_nbytes))[behind] = saved->of[i][v];
            }
    }
}

/* The cell on a thread's elements of a tile of units; `inputs` gets h' for the next step. */
INLINE void run_units(real (*states)[2], unit_saved *kept, const forward_step *s,
                      const real *scalars, const block_memory *in, const unit_inputs *given,
                      const real (*products)[ELEMENTS], input *inputs, step_rows rows,
                      int unit_tile)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const int row = row_of_element(i), unit = unit_of_element(unit_tile, i);
        const int is_run = row < rows.count && unit < s->hidden_size;
        real sums[GATES], pre[MOST_PLANES], next[2], saved[MOST_PLANES];
        for (int g = 0; g < GATES; g++)
            sums[g] = products[g][i];
        sum_products(pre, given->of[i], s, in->biases + unit * PLANES, sums);
        cell_forward(scalars, pre, states[i], next, saved);
        if (is_run)
            put_input(inputs, PLANE_TILES, row, unit, to_storage(next[0]));
        states[i][0] = is_run ? next[0] : states[i][0];
        if (STATES > 1)
            states[i][1] = is_run ? next[1] : states[i][1];
        for (int v = 0; v < SAVED; v++)
            kept->of[i][v] = to_storage(saved[v]);
    }
}

/* Read the matrix, biases and states, and what the first step multiplies: of a row that joins
 * later, in both halves. */
INLINE void begin_forward(const forward_blocks *of, words *resident, const block_memory *in,
                          words *tiles, block_states *states, int first)
{
    load_matrix(&of->matrix, resident, tiles);
    take_states(states, &of->steps, first, of->step.h, of->step.c);
    for (int u = threadIdx.x; u < of->steps.hidden_size; u += THREADS)
        load_biases(in->biases + u * PLANES, &of->step, u);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < UNIT_TILES; j++)
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++) {
            const storage h = to_storage(states->of[j][i][0]);
            const int row = row_of_element(i), unit = unit_of_element(j, i);
            if (place_of_element(&of->steps, first, j, i) >= 0)
                for (int half = 0; half < 2; half++)
                    put_input(in->inputs + half * NUM_INPUTS(PLANE_TILES), PLANE_TILES, row, unit,
                              h);
        }
    __syncthreads();
}

/* The steps [low, high) of forward, of a run for each row of the grid. A step is as for a single
 * one, but for all rows; its real states (batch, H) are read and overwritten. The matrix is (H, G *
 * H). */
BLOCK_KERNEL FN(persistent_forward)(LAUNCHED(forward_launch) launch)
{
    DYNAMIC_SHARED(memory);
    const forward_blocks *of = &launch.run[blockIdx.y];
    const block_steps *p = &of->steps;
    const forward_step *s = &of->step;
    const block_memory in = block_memory_of(memory, PLANES, PLANE_TILES);
    const int first = (int)blockIdx.x * p->capacity;
    const cell_scalars scalars = scalars_of(of->step.scalars);
    words resident[RESIDENT];
    block_states states;
    unit_inputs ahead = {};
    unit_saved saved[UNIT_TILES] = {};
    begin_forward(of, resident, &in, (words *)memory, &states, first);
    const forward_arrays kept = forward_arrays_of(s, unit_of_element(0, 0));
    const step_walk walk = walk_of(p, 0);
    const int capacity = anew(p->capacity);
    step_rows before = {0, 0}, now = rows_of(range_on_walk(&walk, 0), first, &capacity);
    step_range further = range_on_walk(&walk, 1);
    if (LOADS_AHEAD)
        load_unit_inputs(&ahead, s, &kept, now, 0);
    for (int step = 0; step < walk.count; step++) {
        const step_rows next = rows_of(further, first, &capacity);
        further = range_on_walk(&walk, step + 2);
        const int half = step % 2 * NUM_INPUTS(PLANE_TILES);
#pragma unroll
        for (int j = 0; j < UNIT_TILES; j++)
            if (has_unit_tile(j)) {
                real products[GATES][ELEMENTS];
                unit_inputs given = ahead;
                const forward_arrays arrays = forward_arrays_again(s, &kept);
                load_unit_inputs(LOADS_AHEAD ? &ahead : &given, s, &arrays,
                                 LOADS_AHEAD ? next : now, j);
                if (STORES_LATER)
                    store_units(s, &arrays, states.of[j], &saved[j], before, j);
                multiply(products, resident, in.tiles, in.inputs + half, j, GATES, PLANE_TILES);
                run_units(states.of[j], &saved[j], s, scalars.of, &in, &given, products,
                          in.inputs + (NUM_INPUTS(PLANE_TILES) - half), now, j);
                const forward_arrays again = forward_arrays_again(s, &kept);
                if (!STORES_LATER)
                    store_units(s, &again, states.of[j], &saved[j], now, j);
            }
        __syncthreads();
        before = now;
        now = next;
    }
    if (STORES_LATER)
        store_units(s, &kept, states.of[0], &saved[0], before, 0);
    give_states(&states, p, first, s->h, s->c);
}

/* What a thread's elements of a tile of units read, as it is in memory; `before` are the rows of
 * the step that forward ran before. */
typedef struct {
    backward_inputs of[ELEMENTS];
} unit_reads;

INLINE void load_units(unit_reads *to, const backward_step *s, int first, step_rows rows,
                       step_rows before, int unit_tile)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const int b = row_of_element(i), unit = unit_of_element(unit_tile, i);
        if (b < rows.count && unit < s->hidden_size)
            load_backward(&to->of[i], s, rows.row + b, b < before.count ? before.row + b : -1,
                          first + b, unit);
    }
}

/* Gradients of gates of a thread's elements of a tile of units. */
typedef struct {
    storage of[ELEMENTS][PLANES];
} unit_gradients;

INLINE void store_gradients(const backward_step *s, const unit_gradients *gradients, step_rows rows,
                            int unit_tile)
{
    const int H = (int)s->hidden_size;
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const int b = row_of_element(i), unit = unit_of_element(unit_tile, i);
        storage *dgates = (storage *)s->dgates + (rows.row + b) * s->dgates_row + unit;
        if (b < rows.count && unit < H)
            for (int plane = 0; plane < PLANES; plane++)
                dgates[position_of(s->position, plane) * H] = gradients->of[i][plane];
    }
}

/* The cell on a thread's elements of a tile of units, of which `after` rows took part in the step
 * handled before; `inputs` gets what the next product needs. A row that has ended only adds its
 * product to dh. */
INLINE void run_gradients(real (*states)[2], unit_gradients *gradients, const backward_step *s,
                          const real *scalars, const unit_reads *read, const real *products,
                          input *inputs, step_rows rows, int after, int unit_tile)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const int row = row_of_element(i), unit = unit_of_element(unit_tile, i);
        const int is_run = row < rows.count && unit < s->hidden_size;
        const real dh = states[i][0] + (row < after ? products[i] : zero);
        const real dnext[2] = {dh + real_dy(&read->of[i], s), states[i][1]};
        backward_results results;
        run_backward(&results, s, scalars, &read->of[i], dnext, row, unit);
        if (is_run)
            for (int g = 0; g < GATES; g++)
                put_input(inputs, GATES * PLANE_TILES, row, g * WIDTH + unit, results.passed[g]);
        states[i][0] = is_run ? results.dprev[0] : dh;
        if (STATES > 1)
            states[i][1] = is_run ? results.dprev[1] : states[i][1];
        for (int plane = 0; plane < PLANES; plane++)
            gradients->of[i][plane] = results.passed[plane];
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
    const backward_step *s = &of->step;
    const block_memory in = block_memory_of(memory, 0, GATES * PLANE_TILES);
    const int first = (int)blockIdx.x * p->capacity;
    const cell_scalars scalars = scalars_of(of->step.scalars);
    words resident[RESIDENT];
    block_states states;
    unit_reads ahead = {};
    unit_gradients gradients[UNIT_TILES] = {};
    load_matrix(&of->matrix, resident, (words *)memory);
    take_states(&states, p, first, s->dh, s->dc);
    const step_walk walk = walk_of(p, 1);
    const int capacity = p->capacity;
    step_rows after = {0, 0}, now = rows_of(range_on_walk(&walk, 0), first, &capacity);
    step_rows before = rows_of(range_on_walk(&walk, 1), first, &capacity);
    step_range ahead_of = range_on_walk(&walk, 2);
    if (LOADS_AHEAD)
        load_units(&ahead, s, first, now, before, 0);
    __syncthreads(); /* then one step more than there are, which only adds the last products */
    for (int step = 0; step <= walk.count; step++) {
        const step_range of_further = range_two_steps_on(&ahead_of, &walk, step);
        const step_rows further = rows_of(of_further, first, &capacity);
        const step_rows next = step + 1 < walk.count ? before : step_rows();
        const int half = step % 2 * NUM_INPUTS(GATES * PLANE_TILES);
#pragma unroll
        for (int j = 0; j < UNIT_TILES; j++)
            if (has_unit_tile(j)) {
                real products[1][ELEMENTS];
                unit_reads read = ahead;
                if (LOADS_AHEAD)
                    load_units(&ahead, s, first, next, further, j);
                else
                    load_units(&read, s, first, now, before, j);
                if (STORES_LATER)
                    store_gradients(s, &gradients[j], after, j);
                multiply(products, resident, in.tiles, in.inputs + half, j, 1, GATES * PLANE_TILES);
                run_gradients(states.of[j], &gradients[j], s, scalars.of, &read, products[0],
                              in.inputs + (NUM_INPUTS(GATES * PLANE_TILES) - half), now,
                              after.count, j);
                if (!STORES_LATER)
                    store_gradients(s, &gradients[j], now, j);
            }
        __syncthreads();
        after = now;
        now = next;
        before = further;
    }
    give_states(&states, p, first, s->dh, s->dc);
}
