/* grid.c: many steps in one launch, of blocks that share the recurrent matrix and all run at a
 * time. */
#include "../persistent/launch.h"
#include "product.h"

static matrix_slices slices_of(const stepped_layer *l, int is_backward)
{
    const grid_layer *p = &l->grid;
    return (matrix_slices){
        .matrix = l->u,
        .fragments = p->slices,
        .plane_stride = l->hidden_size * l->u_out,
        .k_stride = is_backward ? l->u_out : l->u_in,
        .n_stride = is_backward ? l->u_in : l->u_out,
        .hidden_size = (int)l->hidden_size,
        .parts = p->parts,
        .units = p->units,
        .k_planes = is_backward ? l->gates : 1,
        .n_planes = is_backward ? 1 : l->gates,
        .k_width = p->plane_width,
        .depth_tiles = p->depth_tiles,
        .depth_per_warp = p->depth_per_warp,
        .sum_slots = p->sum_slots,
    };
}

int gather_slices(const device_calls *calls, const stepped_layer *l, int is_backward)
{
    const int64_t words = l->grid.slices_nbytes / (int64_t)(4 * sizeof(uint32_t));
    matrix_slices slices = slices_of(l, is_backward);
    void *arguments[] = {&slices};
    return launch_elements(calls, l->grid.gather, words, arguments);
}

_Static_assert(sizeof(launch_attribute) == 72 && sizeof(launch_config) == 56 &&
                   offsetof(launch_attribute, cluster_x) == 8 &&
                   offsetof(launch_config, stream) == 32,
               "as in cuda.h, where addresses have 8 bytes");

/* An exchange of so many steps, in scratch that is cleared for it; clusters have none. */
static int begin_exchange(const device_calls *calls, const grid_layer *p, matrix_slices slices,
                          int64_t steps, block_exchange *exchange)
{
    *exchange = (block_exchange){
        .words = p->words,
        .arrivals = p->arrivals,
        .fault = p->fault,
        .poll_limit = p->poll_limit,
        .slots = (int)LEAST(steps, p->slots),
        .copies = p->copies,
        .row_tiles = p->row_tiles,
    };
    const int64_t tile_words = 128;
    const int64_t tiles = (int64_t)exchange->slots * p->copies * p->row_tiles * p->depth_tiles;
    void *arguments[] = {&slices, exchange};
    return p->in_clusters ? 0 : launch_elements(calls, p->clear, tiles * tile_words, arguments);
}

/* The blocks of so many runs, in clusters or all at a time. */
static int launch_grid(const device_calls *calls, const grid_layer *p, int runs, void *launch)
{
    void *arguments[] = {launch};
    const unsigned int blocks = (unsigned int)(p->parts * p->copies), rows = (unsigned int)runs;
    const unsigned int threads = (unsigned int)p->threads;
    const unsigned int shared_nbytes = (unsigned int)p->shared_nbytes;
    launch_attribute cluster = {CLUSTER_DIMENSION, 0, (unsigned int)p->parts, 1, 1, {0}};
    const launch_config config = {blocks,        rows,          1,        threads, 1, 1,
                                  shared_nbytes, calls->stream, &cluster, 1};
    if (p->in_clusters)
        return calls->launch_configured(&config, p->steps, arguments, NULL);
    return calls->launch_together(p->steps, blocks, rows, 1, threads, 1, 1, shared_nbytes,
                                  calls->stream, arguments);
}

static void give_scalars(float *to, const double *scalars)
{
    for (int i = 0; i < SCALARS; i++)
        to[i] = (float)scalars[i];
}

int grid_forward(const device_calls *calls, const forward_part *parts, int runs)
{
    grid_forward_launch launch = {0};
    for (int r = 0; r < runs; r++) {
        const stepped_layer *l = &parts[r].of->layer;
        const step_run steps = parts[r].steps;
        grid_forward_blocks *blocks = &launch.run[r];
        blocks->step = forward_step_from(parts[r].of, 0, -l->offsets[steps.low]);
        blocks->steps = block_steps_of(l, steps, l->grid.rows);
        blocks->matrix = slices_of(l, 0);
        give_scalars(blocks->scalars, blocks->step.scalars);
        TRY(begin_exchange(calls, &l->grid, blocks->matrix, steps.high - steps.low,
                           &blocks->exchange));
    }
    return launch_grid(calls, &parts->of->layer.grid, runs, &launch);
}

int grid_backward(const device_calls *calls, const backward_part *parts, int runs)
{
    grid_backward_launch launch = {0};
    for (int r = 0; r < runs; r++) {
        const stepped_layer *l = &parts[r].of->layer;
        const step_run steps = parts[r].steps;
        grid_backward_blocks *blocks = &launch.run[r];
        blocks->step = backward_step_from(parts[r].of, 0, 0);
        blocks->steps = block_steps_of(l, steps, l->grid.rows);
        blocks->matrix = slices_of(l, 1);
        give_scalars(blocks->scalars, blocks->step.scalars);
        TRY(begin_exchange(calls, &l->grid, blocks->matrix, steps.high - steps.low + 1,
                           &blocks->exchange));
    }
    return launch_grid(calls, &parts->of->layer.grid, runs, &launch);
}
