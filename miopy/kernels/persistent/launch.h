/* launch.h: what the kernels of a whole grid are given by value, besides what ../step.h has. */
#ifndef MIOPY_LAUNCH_H
#define MIOPY_LAUNCH_H

#include "../step.h"

/* A matrix, spread over `parts` blocks with `units` units each, an even number; see slice.h. Rows
 * and columns of the matrix are units of one or more planes: element (k, n) of planes a and b is (a
 * + b) * plane_stride + k * k_stride + n * n_stride behind the first. */
typedef struct {
    const void *matrix; /* storage */
    void *fragments;    /* scratch: parts * WARPS * depth_per_warp * column tiles of a warp, of
                               1024 bytes */
    int64_t plane_stride, k_stride, n_stride;
    int hidden_size, parts, units;
    int k_planes, n_planes; /* one of them is 1 */
    int k_width;            /* from one plane's k to the next's: hidden_size, rounded up to words */
    int depth_tiles, depth_per_warp;
    int sum_slots; /* places for the sums of warps, a power of two */
} matrix_slices;

/* What `copies` of these blocks, each for `capacity` sequences of their own, exchange; see
 * exchange.h. */
typedef struct {
    void *words;    /* scratch: uint32_t (slots, copies): inputs (row_tiles, depth_tiles, 8, 16),
                       then, if blocks share the depth, sums (row_tiles, 8, parts, units, 4) */
    void *arrivals; /* scratch: uint32_t (copies) */
    void *fault;    /* uint32_t: becomes 1 if a block has waited in vain */
    uint32_t poll_limit;
    int slots; /* that are used */
    int copies, row_tiles;
} block_exchange;

/* What the blocks of a run, a direction or a layer, are given: its step, but for all rows, and the
 * scalars of the cell's math as they are computed with. */
typedef struct {
    forward_step step;
    block_steps steps;
    matrix_slices matrix;
    block_exchange exchange;
    float scalars[SCALARS];
} grid_forward_blocks;

typedef struct {
    backward_step step;
    block_steps steps;
    matrix_slices matrix;
    block_exchange exchange;
    float scalars[SCALARS];
} grid_backward_blocks;

/* What a launch is given: blocks of a row of the grid are those of a run. */
typedef struct {
    grid_forward_blocks run[MOST_RUNS];
} grid_forward_launch;

typedef struct {
    grid_backward_blocks run[MOST_RUNS];
} grid_backward_launch;

#endif
