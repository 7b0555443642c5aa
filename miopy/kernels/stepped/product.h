/* What forward.c and backward.c share; not for Python. */
#ifndef MIOPY_STEPPED_PRODUCT_H
#define MIOPY_STEPPED_PRODUCT_H

#include "../step.h"
#include "calls.h"
#include "steps.h"

#include <stddef.h>

#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define TRY(call)           \
    do {                    \
        int error = (call); \
        if (error)          \
            return error;   \
    } while (0)

/* An element of an array of `type`; NULL stays NULL. */
void *element(const void *array, int64_t at, int type);

/* A state of `size` units for each sequence, and the caller's initial or final one; `to` is NULL if
 * there is no such state. */
typedef struct {
    void *to;
    const void *from;
    int64_t size;
} moved_state;

/* States from the caller's, h also to `sorted` in storage unless that is NULL. And back. */
int load_states(const device_calls *calls, const stepped_layer *l, moved_state h, moved_state c,
                void *sorted);
int store_states(const device_calls *calls, const stepped_layer *l, moved_state h, moved_state c);

/* What a kernel is given of the step whose first row this is, but for numbers of rows. `ahead`: the
 * same row among input products, negative before the first one; row_before: that of the step that
 * forward runs before. */
forward_step forward_step_from(const stepped_forward *p, int64_t row, int64_t ahead);
backward_step backward_step_from(const stepped_backward *p, int64_t row, int64_t row_before);

/* Steps that are run together: [low, high). */
typedef struct {
    int64_t low, high;
} step_run;

/* The input products of some steps, into the scratch for them. */
int products_ahead(const device_calls *calls, const stepped_forward *p, step_run steps);

/* The steps behind the first `done` ones, from either end, that are a chunk: one, then as many as
 * have no more than most_rows rows. */
step_run next_chunk(const stepped_layer *l, int from_end, int64_t most_rows, int64_t done);

/* All steps of runs that run at the same time, in chunks. */
int chunks_forward(const device_calls *calls, const stepped_forward *p, int runs);
int chunks_backward(const device_calls *calls, const stepped_backward *p, int runs);

/* Steps of a run. */
typedef struct {
    const stepped_forward *of;
    step_run steps;
} forward_part;

typedef struct {
    const stepped_backward *of;
    step_run steps;
} backward_part;

/* What blocks are given of a layer's steps, `capacity` sequences to each. */
block_steps block_steps_of(const stepped_layer *l, step_run steps, int capacity);

/* Put the recurrent matrix in the order in which blocks load it. */
int gather_fragments(const device_calls *calls, const stepped_layer *l, int is_backward);
int gather_slices(const device_calls *calls, const stepped_layer *l, int is_backward);

/* Steps of so many runs in one launch: of blocks by themselves, or of a grid. Matrices are in that
 * order already. */
int persistent_forward(const device_calls *calls, const forward_part *parts, int runs);
int persistent_backward(const device_calls *calls, const backward_part *parts, int runs);
int grid_forward(const device_calls *calls, const forward_part *parts, int runs);
int grid_backward(const device_calls *calls, const backward_part *parts, int runs);

/* The gates [low, high) of the layout whose recurrent products are with h: two runs of them, 0 and
 * 1, before and behind the late one. Either may be empty. */
typedef struct {
    int low, high;
} gate_run;

gate_run early_gates(const stepped_layer *l, int run);

/* How many rows of step t take their state from the step that forward runs before it, `from`. */
int64_t rows_before(const stepped_layer *l, int64_t t, int64_t *from);

#endif
