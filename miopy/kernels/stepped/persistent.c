/* persistent.c: many steps in one launch, of blocks that keep the recurrent matrix. */
#include "product.h"

static block_steps block_steps_of(const stepped_layer *l, int64_t low, int64_t high)
{
    return (block_steps){
        .offsets = l->persistent.offsets,
        .steps = l->steps,
        .low = low,
        .high = high,
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

static int gather(const device_calls *calls, const persistent_layer *p, block_matrix matrix)
{
    const int64_t words = 2 * (int64_t)p->tiles_per_warp * p->threads; /* two halves of each tile */
    void *arguments[] = {&matrix};
    return launch_elements(calls, p->gather, words, arguments);
}

/* Blocks for all sequences that have a step. */
static int launch_blocks(const device_calls *calls, const stepped_layer *l, void **arguments)
{
    const persistent_layer *p = &l->persistent;
    const int64_t blocks = (l->batch_sizes[0] + p->rows - 1) / p->rows;
    return calls->launch(p->steps, (unsigned int)blocks, 1, 1, (unsigned int)p->threads, 1, 1,
                         (unsigned int)p->shared_nbytes, calls->stream, arguments, NULL);
}

int gather_matrix_of_forward(const device_calls *calls, const stepped_forward *p)
{
    const persistent_layer *persistent = &p->layer.persistent;
    return persistent->steps ? gather(calls, persistent, forward_matrix(&p->layer)) : 0;
}

int persistent_forward(const device_calls *calls, const stepped_forward *p, int64_t low,
                       int64_t high)
{
    forward_step all = forward_step_from(p, 0, 0);
    block_steps steps = block_steps_of(&p->layer, low, high);
    block_matrix matrix = forward_matrix(&p->layer);
    void *arguments[] = {&all, &steps, &matrix};
    return launch_blocks(calls, &p->layer, arguments);
}

int persistent_backward(const device_calls *calls, const stepped_backward *p)
{
    backward_step all = backward_step_from(p, 0, 0);
    block_steps steps = block_steps_of(&p->layer, 0, p->layer.steps);
    block_matrix matrix = backward_matrix(&p->layer);
    void *arguments[] = {&all, &steps, &matrix};
    TRY(gather(calls, &p->layer.persistent, matrix));
    return launch_blocks(calls, &p->layer, arguments);
}
