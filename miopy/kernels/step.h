/* step.h: what the kernels of one recurrent step are given, by value.
 *
 * All pointers are to device memory; NULL only where it says so. `rows` sequences take part in the
 * step, the longest first; each array begins at the step's first row. G counts gates, P planes, V
 * saved planes; gates lie in the layout's order. Strides (`*_row`) are in elements. */
#ifndef MIOPY_STEP_H
#define MIOPY_STEP_H

#include "target.h"

#define SCALARS 5
#define MOST_PLANES 8
#define MOST_GATES 4

typedef struct {
    void *output, *y;       /* storage (rows, H), strided; y NULL: no second copy */
    void *cells, *saved;    /* real (rows, H), storage (rows, V, H); NULL in inference */
    void *h, *c;            /* real (batch, H), read and overwritten; c NULL without one, h NULL
                               where a projection makes it */
    const void *x_products; /* real (rows, G, H); NULL: every gate gets x itself, or its own */
    const void *x;          /* storage (rows, H), strided, or (rows, G, H), gates x_gate apart;
                               only if x_products is NULL */
    const void *h_products; /* real (h_rows, G, H); the other rows have none */
    const void *peepholes;  /* storage (peepholes, H), where the cell has any */
    const void *attention;  /* storage (rows), where the cell takes it */
    const void *mask;       /* storage (batch, H), of a late gate's operand; NULL: ones */
    const int64_t *order;   /* row b of the mask is order[b]; NULL: b */
    /* Storage (H) of each gate of the cell; NULL: none. */
    const void *input_bias[MOST_GATES], *recurrent_bias[MOST_GATES];
    int64_t output_row, y_row, x_row, x_gate;
    int64_t rows, h_rows, hidden_size;
    int position[MOST_PLANES]; /* see position_of */
    double scalars[SCALARS];   /* of the cell's math */
} forward_step;

/* The step of backward data. Rows up to product_rows took part in the step handled before; those
 * from `rows` on have ended with it: they only add their product to dh. */
typedef struct {
    void *dgates;     /* storage (rows, P, H), rows strided */
    void *dh, *dc;    /* real (batch, H), read and overwritten; dc NULL without c */
    const void *dy;   /* storage (rows, H), strided; may stand where dgates is written; NULL: 0 */
    const void *mask; /* bytes (rows, H), strided: dy counts mask * scale times; NULL: once */
    const void *products;       /* real (product_rows, H): what the step before passed on to dh */
    const void *output, *cells; /* as forward wrote them, */
    const void *saved;          /* for this step, */
    const void *output_before;  /* and rows [0, before_rows) of the step that forward ran before; */
    const void *cells_before;   /* the other rows started from */
    const void *hx, *cx;        /* storage (batch, H); NULL: zeros */
    const void *peepholes;      /* as forward got them, */
    const void *attention;      /* for this step */
    const int64_t *order;       /* row b of hx and cx is order[b]; NULL: b */
    int64_t dgates_row, dy_row, mask_row, output_row;
    int64_t rows, before_rows, product_rows, hidden_size;
    int position[MOST_PLANES];
    double scale, scalars[SCALARS];
} backward_step;

/* What a block is given besides, to take `capacity` sequences through many steps. */
typedef struct {
    const int64_t *offsets;   /* (steps + 1): the first row of each step */
    int64_t steps, low, high; /* all there are; those to be run: [low, high) */
    int64_t batch, hidden_size;
    int reverse, capacity;
} block_steps;

/* A matrix (K, N) that a block holds, see persistent/matrix.h. Element (k, n) is k * k_stride + n *
 * n_stride elements behind the first. K are units of so many planes, one for each gate, or N are;
 * the other are units of one. */
typedef struct {
    const void *matrix; /* storage */
    void *fragments;    /* the same as blocks load it */
    int64_t k_stride, n_stride, hidden_size;
    int planes_of_depth;
    int position[MOST_GATES]; /* of each gate's plane, see position_of */
} block_matrix;

/* What blocks are given for a run, a direction or a layer: its step, but for all rows. */
typedef struct {
    forward_step step;
    block_steps steps;
    block_matrix matrix;
} forward_blocks;

typedef struct {
    backward_step step;
    block_steps steps;
    block_matrix matrix;
} backward_blocks;

/* What a launch is given: each run has blocks of its own. */
#define MOST_RUNS 4

typedef struct {
    forward_blocks run[MOST_RUNS];
} forward_launch;

typedef struct {
    backward_blocks run[MOST_RUNS];
} backward_launch;

/* Where a plane of the cell is in products and dgates. A device's kernels are compiled for
 * one gate order; one build of the host's serves all. */
INLINE int position_of(const int *given, int plane)
{
#ifdef POSITION
    const int compiled[] = {POSITION};
    return compiled[plane];
#else
    return given[plane];
#endif
}

#endif
