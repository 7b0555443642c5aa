/* launch.h: what the kernels of a whole grid are given by value, besides what ../step.h has. */
#ifndef MIOPY_LAUNCH_H
#define MIOPY_LAUNCH_H

#include "../target.h"

/* A matrix, spread over `parts` blocks with `units` units each, an even number; see slice.h. Rows
 * and columns of the matrix are units of one or more planes: element (k, n) of planes a and b is (a
 * + b) * plane_stride + k * k_stride + n * n_stride behind the first. */
typedef struct {
    const void *matrix; /* storage */
    void *fragments;    /* scratch: parts * WARPS * depth_per_warp * column tiles of 1024 bytes */
    int64_t plane_stride, k_stride, n_stride;
    int hidden_size, parts, units;
    int k_planes, n_planes; /* one of them is 1 */
    int k_width;            /* from one plane's k to the next's: hidden_size, rounded up to words */
    int depth_tiles, depth_per_warp;
    int folds; /* how many warps add up in the same place */
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

#endif
