/* persistent.c: many steps in one launch, of blocks that each keep the recurrent matrix. */
#include "product.h"

static block_matrix block_matrix_of(const stepped_layer *l, int is_backward)
{
    block_matrix matrix = {
        .matrix = l->u,
        .fragments = l->persistent.fragments,
        .k_stride = is_backward ? l->u_out : l->u_in,
        .n_stride = is_backward ? l->u_in : l->u_out,
        .hidden_size = l->hidden_size,
        .planes_of_depth = is_backward ? l->gates : 1,
    };
    for (int gate = 0; gate < MOST_GATES; gate++)
        matrix.position[gate] = l->position[gate];
    return matrix;
}

int gather_fragments(const device_calls *calls, const stepped_layer *l, int is_backward)
{
    const persistent_layer *p = &l->persistent;
    const int64_t words = (int64_t)p->tiles_per_warp * p->threads; /* of each lane */
    block_matrix matrix = block_matrix_of(l, is_backward);
    void *arguments[] = {&matrix};
    return launch_elements(calls, p->gather, words, arguments);
}

/* Blocks for all sequences that have a step, in each run. */
static int launch_blocks(const device_calls *calls, const stepped_layer *l, int runs, void *launch)
{
    const persistent_layer *p = &l->persistent;
    const int64_t tiles = (l->batch_sizes[0] + p->rows - 1) / p->rows;
    void *arguments[] = {launch};
    return calls->launch(p->steps, (unsigned int)tiles, (unsigned int)runs, 1,
                         (unsigned int)p->threads, 1, 1, (unsigned int)p->shared_nbytes,
                         calls->stream, arguments, NULL);
}

int persistent_forward(const device_calls *calls, const forward_part *parts, int runs)
{
    forward_launch launch = {0};
    for (int r = 0; r < runs; r++) {
        const stepped_layer *l = &parts[r].of->layer;
        const step_run steps = parts[r].steps;
        forward_blocks *blocks = &launch.run[r];
        blocks->step = forward_step_from(parts[r].of, 0, -l->offsets[steps.low]);
        blocks->steps = block_steps_of(l, steps, l->persistent.rows);
        blocks->matrix = block_matrix_of(l, 0);
    }
    return launch_blocks(calls, &parts->of->layer, runs, &launch);
}

int persistent_backward(const device_calls *calls, const backward_part *parts, int runs)
{
    backward_launch launch = {0};
    for (int r = 0; r < runs; r++) {
        const stepped_layer *l = &parts[r].of->layer;
        const step_run steps = parts[r].steps;
        backward_blocks *blocks = &launch.run[r];
        blocks->step = backward_step_from(parts[r].of, 0, 0);
        blocks->steps = block_steps_of(l, steps, l->persistent.rows);
        blocks->matrix = block_matrix_of(l, 1);
    }
    return launch_blocks(calls, &parts->of->layer, runs, &launch);
}
