/* backward.c: the steps of backward data, against forward's order. What a step passes on to the one
 * before it is the product of its dgates with the recurrent matrices, and what reached h directly.
 */
#include "product.h"

/* c (rows, S') = what the dgates of step t pass on through the recurrent matrices of some gates; or
 * +=.
 */
static int through_gates(const device_calls *calls, const stepped_backward *p, int64_t t,
                         int64_t rows, gate_run gates, void *c, int accumulate)
{
    const stepped_layer *l = &p->layer;
    const int64_t first = gates.low * l->hidden_size;
    const product step = {
        .type = l->storage,
        .c_type = l->real,
        .accumulate = accumulate,
        .M = rows,
        .N = l->initial_size,
        .K = (gates.high - gates.low) * l->hidden_size,
        .a = element(p->dgates, l->offsets[t] * p->dgates_row + first, l->storage),
        .b = element(l->u, first * l->u_out, l->storage),
        .c = c,
        .a_row = p->dgates_row,
        .a_column = 1,
        .b_row = l->u_out,
        .b_column = l->u_in,
        .c_row = l->initial_size,
    };
    return rows && step.K ? multiply(calls, &step) : 0;
}

/* What has come through recurrent matrices, products (rows, S'), times the mask of what these
 * multiplied. */
static int through_mask(const device_calls *calls, const stepped_layer *l, void *products,
                        int64_t rows)
{
    int64_t size = l->initial_size;
    void *arguments[] = {&products, (void *)&l->mask, (void *)&l->order, &rows, &size};
    return l->mask ? launch_elements(calls, l->apply_mask, rows * size, arguments) : 0;
}

/* dh of the first `rows` rows, from the dgates of step `after`. */
static int passed_on(const device_calls *calls, const stepped_backward *p, int64_t after,
                     int64_t rows)
{
    const gate_run before = early_gates(&p->layer, 0), behind = early_gates(&p->layer, 1);
    TRY(through_gates(calls, p, after, rows, before, p->products, 0));
    TRY(through_gates(calls, p, after, rows, behind, p->products, before.high > 0));
    return through_mask(calls, &p->layer, p->products, rows);
}

/* What comes through the operand of the late gate, once the rest of the step is done. */
static int through_operand(const device_calls *calls, const stepped_backward *p,
                           backward_step *step, int64_t t)
{
    const stepped_layer *l = &p->layer;
    const gate_run late = {l->late, l->late + 1};
    void *doperand = p->dhidden;
    void *arguments[] = {step, &doperand};
    TRY(through_gates(calls, p, t, step->rows, late, doperand, 0));
    TRY(through_mask(calls, l, doperand, step->rows));
    return launch_elements(calls, l->operand, step->rows * l->hidden_size, arguments);
}

/* dhidden of the n rows of step t, of which `products` get something from the step handled before:
 * the gradient of what was projected. */
static int unproject(const device_calls *calls, const stepped_backward *p, int64_t t, int64_t n,
                     int64_t products)
{
    const stepped_layer *l = &p->layer;
    const int64_t row = l->offsets[t];
    void *dprojected = element(p->dprojected, row * p->dprojected_row, l->storage), *dh = p->dh;
    const void *dy = element(p->dy, row * p->dy_row, l->storage), *from_after = p->products;
    const char *mask = p->mask ? (const char *)p->mask + row * p->mask_row : NULL;
    int64_t dprojected_row = p->dprojected_row, dy_row = p->dy_row, mask_row = p->mask_row;
    int64_t size = l->state_size;
    double scale = p->scale;
    void *arguments[] = {&dprojected, &dprojected_row, &dh,         &dy, &dy_row,   &mask,
                         &mask_row,   &scale,          &from_after, &n,  &products, &size};
    const product step = {
        .type = l->storage,
        .c_type = l->real,
        .M = n,
        .N = l->hidden_size,
        .K = size,
        .a = dprojected,
        .b = l->matrix,
        .c = p->dhidden,
        .a_row = dprojected_row,
        .a_column = 1,
        .b_row = l->matrix_out,
        .b_column = l->matrix_in,
        .c_row = l->hidden_size,
    };
    TRY(launch_elements(calls, l->project, MOST(n, products) * size, arguments));
    return n ? multiply(calls, &step) : 0;
}

backward_step backward_step_from(const stepped_backward *p, int64_t row, int64_t row_before)
{
    const stepped_layer *l = &p->layer;
    const int64_t H = l->hidden_size;
    backward_step step = {
        .dgates = element(p->dgates, row * p->dgates_row, l->storage),
        .dh = p->dh,
        .dc = p->dc,
        .dy = element(p->dy, row * p->dy_row, l->storage),
        .mask = p->mask ? (const char *)p->mask + row * p->mask_row : NULL,
        .products = p->products,
        .output = element(p->output, row * p->output_row, l->storage),
        .cells = element(p->cells, row * H, l->real),
        .saved = element(p->saved, row * l->saved * H, l->storage),
        .output_before = element(p->output, row_before * p->output_row, l->storage),
        .cells_before = element(p->cells, row_before * H, l->real),
        .hx = p->hx,
        .cx = p->cx,
        .peepholes = l->peepholes,
        .attention = element(l->attention, row, l->storage),
        .order = l->order,
        .dgates_row = p->dgates_row,
        .dy_row = p->dy_row,
        .mask_row = p->mask_row,
        .output_row = p->output_row,
        .hidden_size = H,
        .scale = p->scale,
    };
    for (int i = 0; i < SCALARS; i++)
        step.scalars[i] = l->scalars[i];
    for (int i = 0; i < MOST_PLANES; i++)
        step.position[i] = l->position[i];
    return step;
}

/* Where hx has another size than h, there is one step, and hx is in its products alone. */
static int is_apart(const stepped_layer *l) { return l->initial_size != l->state_size; }

/* Step t of n rows, of which `products` get something from the step handled before. */
static int one_step(const device_calls *calls, const stepped_backward *p, int64_t t, int64_t n,
                    int64_t products)
{
    const stepped_layer *l = &p->layer;
    const int64_t H = l->hidden_size, row = l->offsets[t];
    int64_t from = 0;
    const int64_t before = n ? rows_before(l, t, &from) : 0;
    const int64_t row_before = before ? l->offsets[from] : 0;
    backward_step step = backward_step_from(p, row, row_before);
    step.rows = n;
    step.before_rows = before;
    step.product_rows = products;
    if (is_apart(l))
        step.hx = NULL;
    void *arguments[] = {&step};
    if (!l->project) {
        TRY(launch_elements(calls, p->pointwise, MOST(n, products) * H, arguments));
        return l->operand ? through_operand(calls, p, &step, t) : 0;
    }
    TRY(unproject(calls, p, t, n, products));
    step.dh = p->dhidden;
    step.product_rows = 0;
    step.dy = step.mask = step.hx = NULL;
    step.output = element(p->hidden, row * H, l->storage);
    step.output_before = element(p->hidden, row_before * H, l->storage);
    step.output_row = H;
    return launch_elements(calls, p->pointwise, n * H, arguments);
}

static int all_steps(const device_calls *calls, const stepped_backward *p)
{
    const stepped_layer *l = &p->layer;
    int64_t after = 0, after_rows = 0;
    /* One step more than there are: it only finishes dhx. */
    for (int64_t step = 0; step <= l->steps; step++) {
        const int64_t t = l->reverse ? step : l->steps - 1 - step;
        const int64_t n = step < l->steps ? l->batch_sizes[t] : 0;
        const int64_t products = p->dhx ? after_rows : LEAST(after_rows, n);
        TRY(passed_on(calls, p, after, products));
        if (is_apart(l) && step == l->steps)
            break;
        TRY(one_step(calls, p, n ? t : 0, n, products));
        after = t;
        after_rows = n;
    }
    return 0;
}

int run_backward(const device_calls *calls, const stepped_backward *p, int runs)
{
    for (int r = 0; r < runs; r++) {
        const stepped_layer *l = &p[r].layer;
        const moved_state dh = {p[r].dh, p[r].dhy, l->state_size};
        const moved_state dc = {p[r].dc, p[r].dcy, l->hidden_size};
        TRY(load_states(calls, l, dh, dc, NULL));
        if (!l->together)
            TRY(all_steps(calls, &p[r]));
    }
    for (int r = 0, count = p->layer.together; count && r < runs; r += count)
        TRY(chunks_backward(calls, &p[r], LEAST(count, runs - r)));
    for (int r = 0; r < runs; r++) {
        const stepped_layer *l = &p[r].layer;
        const moved_state dh = {p[r].dhx, is_apart(l) ? p[r].products : p[r].dh, l->initial_size};
        const moved_state dc = {p[r].dcx, p[r].dc, l->hidden_size};
        TRY(store_states(calls, l, dh, dc));
    }
    return 0;
}
