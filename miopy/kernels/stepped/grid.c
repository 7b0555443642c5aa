/* grid.c: many steps in one launch, of blocks that share the recurrent matrix and all run at a
 * time. */
#include "../persistent/launch.h"
#include "product.h"

static matrix_slices slices_of(const stepped_layer *l, int is_backward)
{
    const grid_layer *p = &l->grid;
    const matrix_slices slices = {
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
        .folds = p->folds,
    };
    return slices;
}

static int gather_slices(const device_calls *calls, const grid_layer *p, matrix_slices slices)
{
    const int64_t words = p->slices_nbytes / (int64_t)(4 * sizeof(uint32_t));
    void *arguments[] = {&slices};
    return launch_elements(calls, p->gather, words, arguments);
}

_Static_assert(sizeof(launch_attribute) == 72 && sizeof(launch_config) == 56 &&
                   offsetof(launch_attribute, cluster_x) == 8 &&
                   offsetof(launch_config, stream) == 32,
               "as in cuda.h, where addresses have 8 bytes");

/* Launch the blocks that share a matrix, in clusters or all at a time. */
static int launch_sharing(const device_calls *calls, const grid_layer *p, void **arguments)
{
    const unsigned int blocks = (unsigned int)(p->parts * p->copies);
    const unsigned int threads = (unsigned int)p->threads;
    const unsigned int shared_nbytes = (unsigned int)p->shared_nbytes;
    launch_attribute cluster = {CLUSTER_DIMENSION, 0, (unsigned int)p->parts, 1, 1, {0}};
    const launch_config config = {blocks,        1,        1, threads, 1, 1, shared_nbytes,
                                  calls->stream, &cluster, 1};
    if (p->in_clusters)
        return calls->launch_configured(&config, p->steps, arguments, NULL);
    return calls->launch_together(p->steps, blocks, 1, 1, threads, 1, 1, shared_nbytes,
                                  calls->stream, arguments);
}

/* Launch the blocks for the steps of a run, with `exchanged` steps between them. */
static int launch_grid(const device_calls *calls, const stepped_layer *l, void *all,
                       matrix_slices slices, step_run run, int64_t exchanged)
{
    const grid_layer *p = &l->grid;
    block_steps steps = {
        .offsets = p->offsets,
        .steps = l->steps,
        .low = run.low,
        .high = run.high,
        .batch = l->batch,
        .hidden_size = l->hidden_size,
        .reverse = l->reverse,
        .capacity = p->rows,
    };
    block_exchange exchange = {
        .words = p->words,
        .arrivals = p->arrivals,
        .fault = p->fault,
        .poll_limit = p->poll_limit,
        .slots = (int)LEAST(exchanged, p->slots),
        .copies = p->copies,
        .row_tiles = p->row_tiles,
    };
    const int64_t tile_words = 128;
    const int64_t tiles = (int64_t)exchange.slots * p->copies * p->row_tiles * p->depth_tiles;
    void *cleared[] = {&slices, &exchange};
    void *arguments[] = {all, &steps, &slices, &exchange};
    if (!p->in_clusters)
        TRY(launch_elements(calls, p->clear, tiles * tile_words, cleared));
    return launch_sharing(calls, p, arguments);
}

int gather_slices_of_forward(const device_calls *calls, const stepped_forward *p)
{
    const grid_layer *grid = &p->layer.grid;
    return grid->steps ? gather_slices(calls, grid, slices_of(&p->layer, 0)) : 0;
}

int grid_forward(const device_calls *calls, const stepped_forward *p, step_run steps)
{
    forward_step all = forward_step_from(p, 0, 0);
    return launch_grid(calls, &p->layer, &all, slices_of(&p->layer, 0), steps,
                       steps.high - steps.low);
}

int grid_backward(const device_calls *calls, const stepped_backward *p)
{
    const stepped_layer *l = &p->layer;
    backward_step all = backward_step_from(p, 0, 0);
    const matrix_slices slices = slices_of(l, 1);
    TRY(gather_slices(calls, &l->grid, slices));
    return launch_grid(calls, l, &all, slices, (step_run){0, l->steps}, l->steps + 1);
}
