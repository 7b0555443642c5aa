/* persistent.c: many steps of all directions of a layer in one launch, of blocks that keep the
 * recurrent matrix. */
#include "product.h"

static block_steps block_steps_of(const stepped_layer *l, step_run steps)
{
    return (block_steps){
        .offsets = l->persistent.offsets,
        .steps = l->steps,
        .low = steps.low,
        .high = steps.high,
        .batch = l->batch,
        .hidden_size = l->hidden_size,
        .reverse = l->reverse,
        .capacity = l->persistent.rows,
    };
}

static block_matrix block_matrix_of(const stepped_layer *l, int64_t k_stride, int64_t n_stride)
{
    const persistent_layer *p = &l->persistent;
    return (block_matrix){
        .matrix = l->u,
        .fragments = p->fragments,
        .k_stride = k_stride,
        .n_stride = n_stride,
        .K = p->depth,
        .N = p->columns,
        .depth_tiles = p->depth_tiles,
        .num_tiles = p->num_tiles,
        .tiles_per_warp = p->tiles_per_warp,
        .slots = p->slots,
    };
}

static block_matrix forward_matrix(const stepped_layer *l)
{
    return block_matrix_of(l, l->u_in, l->u_out);
}

static block_matrix backward_matrix(const stepped_layer *l)
{
    return block_matrix_of(l, l->u_out, l->u_in);
}

/* Put a matrix in the order in which blocks load it. */
static int gather(const device_calls *calls, const persistent_layer *p, block_matrix matrix)
{
    const int64_t words = 2 * (int64_t)p->tiles_per_warp * p->threads; /* two halves of each tile */
    void *arguments[] = {&matrix};
    return launch_elements(calls, p->gather, words, arguments);
}

/* Blocks for all sequences that have a step, in each direction. */
static int launch_blocks(const device_calls *calls, const stepped_layer *l, int directions,
                         void *launch)
{
    const persistent_layer *p = &l->persistent;
    const int64_t tiles = (l->batch_sizes[0] + p->rows - 1) / p->rows;
    void *arguments[] = {launch};
    return calls->launch(p->steps, (unsigned int)tiles, (unsigned int)directions, 1,
                         (unsigned int)p->threads, 1, 1, (unsigned int)p->shared_nbytes,
                         calls->stream, arguments, NULL);
}

/* A direction's steps behind the first `done` ones, as far as there is room for input products. */
static int forward_chunk(const device_calls *calls, const stepped_forward *p, int64_t done,
                         forward_blocks *blocks)
{
    const stepped_layer *l = &p->layer;
    const step_run chunk = next_chunk(p, done);
    /* As if there were input products from row 0 on. */
    blocks->step = forward_step_from(p, 0, -l->offsets[chunk.low]);
    blocks->steps = block_steps_of(l, chunk);
    blocks->matrix = forward_matrix(l);
    return products_ahead(calls, p, chunk);
}

int persistent_forward(const device_calls *calls, const stepped_forward *p, int directions)
{
    int64_t done[MOST_DIRECTIONS] = {0};
    for (int d = 0; d < directions; d++)
        TRY(gather(calls, &p[d].layer.persistent, forward_matrix(&p[d].layer)));
    /* Chunks are as full as can be, so from either end there are as many. */
    while (done[0] < p->layer.steps) {
        forward_launch launch = {0};
        for (int d = 0; d < directions; d++) {
            forward_blocks *blocks = &launch.direction[d];
            TRY(forward_chunk(calls, &p[d], done[d], blocks));
            done[d] += blocks->steps.high - blocks->steps.low;
        }
        TRY(launch_blocks(calls, &p->layer, directions, &launch));
    }
    return 0;
}

int persistent_backward(const device_calls *calls, const stepped_backward *p, int directions)
{
    backward_launch launch = {0};
    for (int d = 0; d < directions; d++) {
        const stepped_layer *l = &p[d].layer;
        backward_blocks *blocks = &launch.direction[d];
        blocks->step = backward_step_from(&p[d], 0, 0);
        blocks->steps = block_steps_of(l, (step_run){0, l->steps});
        blocks->matrix = backward_matrix(l);
        TRY(gather(calls, &l->persistent, blocks->matrix));
    }
    return launch_blocks(calls, &p->layer, directions, &launch);
}
