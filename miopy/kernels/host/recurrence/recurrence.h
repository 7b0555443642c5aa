#ifndef MIOPY_RECURRENCE_H
#define MIOPY_RECURRENCE_H
#include "../pool/pool.h"
#include <stdint.h>

/* One layer in one direction. Parameters and all tensors hold elements of `storage`, strides are in
 * elements; input is NULL without such matrices. The matrices of all gates are one matrix: row out
 * of gate g of the cell is its row position[g] * hidden_size + out, rows are *_out and columns *_in
 * apart. Biases are of the cell's gates, NULL where there is none. */
typedef struct {
    int cell, storage, reverse;
    int64_t steps, rows, batch;
    int64_t input_size, hidden_size;
    const int64_t *batch_sizes; /* (steps) active sequences, never growing */
    const int64_t *offsets;     /* (steps + 1) first row of each step */
    const int64_t *order;       /* (batch) the caller's state of sequence b; NULL: b */
    const void *input, *recurrent;
    int64_t input_out, input_in, recurrent_out, recurrent_in;
    const void *input_bias[4], *recurrent_bias[4];
    const void *peepholes; /* (peepholes, hidden_size) of a cell that has any */
    int position[4];
    int idle_keeps_state; /* what a sequence without a step leaves: its initial states, or zeros */
    int keeps_planes;     /* whether others read what forward keeps; see reserve.inc */
    double scalars[4];    /* of the cell's math */
} rnn_layer;

/* Forward over a whole sequence.
 *   other    a pass that runs as well, beside this one or after it, or NULL; it has no other
 *            itself. It is the layer's other direction or, if it `follows`, the layer above, whose
 *            x is this one's output. The output of that may lie on this one's x, row on row: it
 *            writes rows of a step once this one has done that step
 *   x        (rows, input_size), rows x_row apart; without input matrix added to every gate
 *   attention (rows), of a cell that takes it
 *   hx cx    (batch, H) or NULL for zeros
 *   output   (rows, H), rows output_row apart; y the same again, or NULL
 *   hy cy    (batch, H) or NULL
 *   cells    (rows, H) in the real type, and saved as in reserve.inc: the reserve, or NULL */
typedef struct forward_pass {
    const struct forward_pass *other;
    int follows;
    rnn_layer layer;
    const void *x;
    int64_t x_row;
    const void *attention, *hx, *cx;
    void *output, *y;
    int64_t output_row, y_row;
    void *hy, *cy, *cells, *saved;
} forward_pass;

/* Backward over a whole sequence: from the gradient of the output to that of the pre-activations.
 *   other    the pass of the layer's other direction, which runs as well, or NULL
 *   dy       (rows, H), rows dy_row apart; may stand where dgates plane 0 is written
 *   mask     (rows, H) bytes, rows mask_row apart, or NULL: dy counts mask * scale times
 *   attention output cells saved hx cx   as forward left and got them
 *   dhy dcy  (batch, H) or NULL for zeros
 *   dhx dcx  (batch, H), overwritten, or NULL
 *   dgates   (rows, planes, H), rows dgates_row apart: gates in layout order, then input planes */
typedef struct backward_pass {
    const struct backward_pass *other;
    rnn_layer layer;
    const void *dy;
    int64_t dy_row;
    const uint8_t *mask;
    int64_t mask_row;
    double scale;
    const void *attention, *hx, *cx, *output;
    int64_t output_row;
    const void *cells, *saved, *dhy, *dcy;
    void *dhx, *dcx, *dgates;
    int64_t dgates_row;
} backward_pass;

/* Bytes of scratch that a pass and its other one need on a pool, aligned to 64 bytes. */
int64_t forward_scratch(const pool *p, const forward_pass *pass);
int64_t backward_scratch(const pool *p, const backward_pass *pass);
void recurrence_forward(pool *p, const forward_pass *pass, void *scratch);
void recurrence_backward(pool *p, const backward_pass *pass, void *scratch);
#endif
