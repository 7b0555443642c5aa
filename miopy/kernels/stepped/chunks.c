/* chunks.c: runs whose steps go in chunks, one launch for a chunk of each run that has one.
 * Directions of a layer have them from either end. A layer of a stack has one as soon as the layer
 * before has done it: layers run as a wavefront, each a chunk behind, launch after launch on one
 * stream. */
#include "../strided.h"
#include "product.h"

step_run next_chunk(const stepped_layer *l, int from_end, int64_t most_rows, int64_t done)
{
    int64_t count = 0, rows = 0;
    for (; done + count < l->steps && count < l->chunk_steps; count++) {
        const int64_t step = done + count;
        rows += l->batch_sizes[from_end ? l->steps - 1 - step : step];
        if (count && rows > most_rows)
            break;
    }
    const int64_t low = from_end ? l->steps - done - count : done;
    return (step_run){low, low + count};
}

/* How many steps of run r may be done when all have done so many. */
static int64_t steps_ready(const stepped_layer *l, const int64_t *done, int r)
{
    return l->follows ? done[r - 1] : l->steps;
}

/* The rows of a layer's input that some steps read, by dropout from what the run before has made.
 */
static int drop_input(const device_calls *calls, const stepped_forward *p, step_run steps)
{
    const stepped_layer *l = &p->layer;
    const int64_t size = l->input_size, row = l->offsets[steps.low];
    const int64_t elements = (l->offsets[steps.high] - row) * size;
    walk_shape shape = {.dims = 1, .rows = elements, .columns = 1, .length = {elements}};
    walk_strides strides = {.row = {1}};
    void *x = element(p->x, row * size, l->storage);
    const void *from = element(p->drop_from, row * size, l->storage);
    const uint8_t *mask = (const uint8_t *)p->drop_mask + row * size;
    float scale = p->drop_scale;
    void *arguments[] = {&x, &strides, &from, &strides, &mask, &shape, &scale};
    return launch_elements(calls, p->drop, elements, arguments);
}

int chunks_forward(const device_calls *calls, const stepped_forward *p, int runs)
{
    const int is_grid = p->layer.grid.steps != NULL;
    int64_t done[MOST_RUNS] = {0};
    for (int r = 0; r < runs; r++)
        TRY((is_grid ? gather_slices : gather_fragments)(calls, &p[r].layer, 0));
    for (;;) {
        forward_part parts[MOST_RUNS];
        int count = 0;
        for (int r = runs - 1; r >= 0; r--) { /* the run before has yet to do this launch's chunk */
            const stepped_layer *l = &p[r].layer;
            if (done[r] == steps_ready(l, done, r))
                continue;
            const step_run steps = next_chunk(l, l->reverse, p[r].chunk_rows, done[r]);
            if (p[r].drop)
                TRY(drop_input(calls, &p[r], steps));
            TRY(products_ahead(calls, &p[r], steps));
            parts[count++] = (forward_part){&p[r], steps};
            done[r] += steps.high - steps.low;
        }
        if (!count)
            return 0;
        TRY((is_grid ? grid_forward : persistent_forward)(calls, parts, count));
    }
}

/* The gradient of what a run puts out, in some steps: what comes through the input matrices of the
 * run before, which reads it. */
static int dy_of_steps(const device_calls *calls, const stepped_backward *p, step_run steps)
{
    const stepped_backward *reader = p - 1;
    const stepped_layer *l = &p->layer;
    const int64_t row = l->offsets[steps.low], H = l->hidden_size;
    for (int i = 0; i < MOST_GATES && reader->inputs[i].count; i++) {
        const input_run of = reader->inputs[i];
        const product dy = {
            .type = l->storage,
            .c_type = l->storage,
            .accumulate = i > 0,
            .M = l->offsets[steps.high] - row,
            .N = l->state_size,
            .K = of.count * H,
            .a = element(reader->dgates, row * reader->dgates_row + of.plane * H, l->storage),
            .b = element(reader->w, of.gate * H * reader->w_out, l->storage),
            .c = element(p->dy, row * p->dy_row, l->storage),
            .a_row = reader->dgates_row,
            .a_column = 1,
            .b_row = reader->w_out,
            .b_column = reader->w_in,
            .c_row = p->dy_row,
        };
        TRY(multiply(calls, &dy));
    }
    return 0;
}

int chunks_backward(const device_calls *calls, const stepped_backward *p, int runs)
{
    const int is_grid = p->layer.grid.steps != NULL;
    int64_t done[MOST_RUNS] = {0};
    for (int r = 0; r < runs; r++)
        TRY((is_grid ? gather_slices : gather_fragments)(calls, &p[r].layer, 1));
    for (;;) {
        backward_part parts[MOST_RUNS];
        int count = 0;
        for (int r = runs - 1; r >= 0; r--) {
            const stepped_layer *l = &p[r].layer;
            if (done[r] == steps_ready(l, done, r))
                continue;
            const step_run steps = next_chunk(l, !l->reverse, INT64_MAX, done[r]);
            if (l->follows)
                TRY(dy_of_steps(calls, &p[r], steps));
            parts[count++] = (backward_part){&p[r], steps};
            done[r] += steps.high - steps.low;
        }
        if (!count)
            return 0;
        TRY((is_grid ? grid_backward : persistent_backward)(calls, parts, count));
    }
}
