/* forward.c: the steps of forward. Input products run ahead, a chunk of steps at a time; each step
 * is then a product with h and the cell on every unit, with one more product before it for a late
 * gate or behind it for a projection. */
#include "product.h"

int products_ahead(const device_calls *calls, const stepped_forward *p, step_run steps)
{
    const stepped_layer *l = &p->layer;
    const int64_t width = l->gates * l->hidden_size, row = l->offsets[steps.low];
    const product x = {
        .type = l->storage,
        .c_type = l->real,
        .M = l->offsets[steps.high] - row,
        .N = width,
        .K = l->input_size,
        .a = element(p->x, row * p->x_row, l->storage),
        .b = p->w,
        .c = p->x_products,
        .a_row = p->x_row,
        .a_column = 1,
        .b_row = p->w_in,
        .b_column = p->w_out,
        .c_row = width,
    };
    return p->w ? multiply(calls, &x) : 0;
}

/* Recurrent products of the gates [low, high) of rows [first, first + rows) with a state or
 * operand, whose row 0 is given. */
static int gate_products(const device_calls *calls, const stepped_forward *p, const void *state,
                         int64_t state_row, int64_t first, int64_t rows, gate_run gates)
{
    const stepped_layer *l = &p->layer;
    const int64_t H = l->hidden_size, width = l->gates * H;
    const product step = {
        .type = l->storage,
        .c_type = l->real,
        .M = rows,
        .N = (gates.high - gates.low) * H,
        .K = l->initial_size,
        .a = element(state, first * state_row, l->storage),
        .b = element(l->u, gates.low * H * l->u_out, l->storage),
        .c = element(p->h_products, first * width + gates.low * H, l->real),
        .a_row = state_row,
        .a_column = 1,
        .b_row = l->u_in,
        .b_column = l->u_out,
        .c_row = width,
    };
    return rows ? multiply(calls, &step) : 0;
}

/* Those of all gates that multiply h. */
static int recurrent_products(const device_calls *calls, const stepped_forward *p, const void *h,
                              int64_t h_row, int64_t first, int64_t rows)
{
    TRY(gate_products(calls, p, h, h_row, first, rows, early_gates(&p->layer, 0)));
    return gate_products(calls, p, h, h_row, first, rows, early_gates(&p->layer, 1));
}

/* That of the late gate with its operand, which is made first. */
static int late_product(const device_calls *calls, const stepped_forward *p, forward_step *step,
                        void *operand)
{
    const stepped_layer *l = &p->layer;
    const gate_run late = {l->late, l->late + 1};
    void *arguments[] = {step, &operand};
    TRY(launch_elements(calls, l->operand, step->rows * l->hidden_size, arguments));
    return gate_products(calls, p, operand, l->hidden_size, 0, step->h_rows, late);
}

/* h of step t, of n rows, from what its cells put out. */
static int project(const device_calls *calls, const stepped_forward *p, const void *hidden,
                   int64_t t, int64_t n)
{
    const stepped_layer *l = &p->layer;
    const product step = {
        .type = l->storage,
        .c_type = l->real,
        .M = n,
        .N = l->state_size,
        .K = l->hidden_size,
        .a = hidden,
        .b = l->matrix,
        .c = p->h,
        .a_row = l->hidden_size,
        .a_column = 1,
        .b_row = l->matrix_in,
        .b_column = l->matrix_out,
        .c_row = l->state_size,
    };
    void *output = element(p->output, l->offsets[t] * p->output_row, l->storage);
    void *y = element(p->y, l->offsets[t] * p->y_row, l->storage), *h = p->h;
    int64_t output_row = p->output_row, y_row = p->y_row, size = l->state_size;
    void *arguments[] = {&output, &output_row, &y, &y_row, &h, &n, &size};
    TRY(multiply(calls, &step));
    return launch_elements(calls, l->project, n * size, arguments);
}

/* The recurrent products of step t, of n rows of which `before` took part in step `from`; the
 * others start from `initial`, or without such products if that is NULL. */
static int products_of(const device_calls *calls, const stepped_forward *p, int64_t t, int64_t n,
                       int64_t before, int64_t from, const void *initial)
{
    const stepped_layer *l = &p->layer;
    const int64_t S = l->initial_size;
    if (l->mask) {
        void *masked =
            p->masked ? element(p->masked, l->offsets[t] * S, l->storage) : p->masked_step;
        int64_t rows = n, size = S;
        void *arguments[] = {&masked,           (void *)&p->h, (void *)&l->mask,
                             (void *)&l->order, &rows,         &size};
        TRY(launch_elements(calls, l->apply_mask, n * S, arguments));
        return recurrent_products(calls, p, masked, S, 0, initial ? n : before);
    }
    if (before)
        TRY(recurrent_products(calls, p,
                               element(p->output, l->offsets[from] * p->output_row, l->storage),
                               p->output_row, 0, before));
    return initial ? recurrent_products(calls, p, initial, S, before, n - before) : 0;
}

forward_step forward_step_from(const stepped_forward *p, int64_t row, int64_t ahead)
{
    const stepped_layer *l = &p->layer;
    const int64_t H = l->hidden_size;
    forward_step step = {
        .output = element(p->output, row * p->output_row, l->storage),
        .y = element(p->y, row * p->y_row, l->storage),
        .cells = element(p->cells, row * H, l->real),
        .saved = element(p->saved, row * l->saved * H, l->storage),
        .h = p->h,
        .c = p->c,
        .x_products = p->w ? element(p->x_products, ahead * l->gates * H, l->real) : NULL,
        .x = element(p->x, row * p->x_row, l->storage),
        .h_products = p->h_products,
        .peepholes = l->peepholes,
        .attention = element(l->attention, row, l->storage),
        .mask = l->mask,
        .order = l->order,
        .output_row = p->output_row,
        .y_row = p->y_row,
        .x_row = p->x_row,
        .x_gate = p->x_gate,
        .hidden_size = H,
    };
    for (int i = 0; i < MOST_GATES; i++) {
        step.input_bias[i] = p->input_bias[i];
        step.recurrent_bias[i] = p->recurrent_bias[i];
    }
    for (int i = 0; i < SCALARS; i++)
        step.scalars[i] = l->scalars[i];
    for (int i = 0; i < MOST_PLANES; i++)
        step.position[i] = l->position[i];
    return step;
}

/* The cells of step t, of n rows of which h_rows have recurrent products. */
static int cells(const device_calls *calls, const stepped_forward *p, int64_t t, int64_t n,
                 int64_t h_rows, int64_t ahead)
{
    const stepped_layer *l = &p->layer;
    const int64_t H = l->hidden_size, row = l->offsets[t];
    forward_step step = forward_step_from(p, row, ahead);
    void *arguments[] = {&step};
    void *operand = p->hidden ? element(p->hidden, row * H, l->storage) : p->operand;
    step.rows = n;
    step.h_rows = h_rows;
    if (l->operand)
        TRY(late_product(calls, p, &step, operand));
    if (!l->project)
        return launch_elements(calls, p->pointwise, n * H, arguments);
    step.output = operand;
    step.output_row = H;
    step.y = step.h = NULL;
    TRY(launch_elements(calls, p->pointwise, n * H, arguments));
    return project(calls, p, operand, t, n);
}

/* Step t, whose input products are `ahead` rows after the first of its chunk. */
static int one_step(const device_calls *calls, const stepped_forward *p, int64_t t, int64_t ahead)
{
    const stepped_layer *l = &p->layer;
    const int64_t n = l->batch_sizes[t];
    int64_t from;
    const int64_t before = rows_before(l, t, &from);
    const void *initial = l->order && p->hx ? p->sorted : p->hx;
    TRY(products_of(calls, p, t, n, before, from, initial));
    return cells(calls, p, t, n, initial ? n : before, ahead);
}

/* All steps one by one. */
static int all_steps(const device_calls *calls, const stepped_forward *p)
{
    const stepped_layer *l = &p->layer;
    for (int64_t done = 0; done < l->steps;) {
        const step_run chunk = next_chunk(l, l->reverse, p->chunk_rows, done);
        const int64_t end = done + chunk.high - chunk.low;
        TRY(products_ahead(calls, p, chunk));
        for (; done < end; done++) {
            const int64_t t = l->reverse ? l->steps - 1 - done : done;
            TRY(one_step(calls, p, t, l->offsets[t] - l->offsets[chunk.low]));
        }
    }
    return 0;
}

int run_forward(const device_calls *calls, const stepped_forward *p, int runs)
{
    for (int r = 0; r < runs; r++) {
        const stepped_layer *l = &p[r].layer;
        void *sorted = l->order && p[r].hx ? p[r].sorted : NULL;
        const moved_state h = {p[r].h, p[r].hx, l->initial_size};
        const moved_state c = {p[r].c, p[r].cx, l->hidden_size};
        TRY(load_states(calls, l, h, c, sorted));
        if (!l->together)
            TRY(all_steps(calls, &p[r]));
    }
    for (int r = 0, count = p->layer.together; count && r < runs; r += count)
        TRY(chunks_forward(calls, &p[r], LEAST(count, runs - r)));
    for (int r = 0; r < runs; r++) {
        const stepped_layer *l = &p[r].layer;
        const moved_state h = {p[r].hy, p[r].h, l->state_size};
        const moved_state c = {p[r].cy, p[r].c, l->hidden_size};
        TRY(store_states(calls, l, h, c));
    }
    return 0;
}
