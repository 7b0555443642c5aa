/* steps.c: the loop over the steps of a layer, on the host, for a device. No synchronisation and no
 * allocation: everything is put on the stream of `calls`, which may be one that is captured. */
#include "../step.h"
#include "calls.h"
#include "steps.h"

#include <limits.h>
#include <stddef.h>

#define THREADS 256
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define TRY(call)           \
    do {                    \
        int error = (call); \
        if (error)          \
            return error;   \
    } while (0)

static const int64_t NBYTES[] = {[F32] = 4, [F16] = 2, [BF16] = 2, [F64] = 8};

/* `pointer` is void *; NULL stays NULL. */
static void *elements_after(const void *pointer, int64_t count, int type)
{
    return pointer ? (char *)pointer + count * NBYTES[type] : NULL;
}

int launch_elements(const device_calls *calls, void *function, int64_t elements, void **arguments)
{
    const int64_t blocks = LEAST((elements + THREADS - 1) / THREADS, calls->most_blocks);
    if (elements <= 0)
        return 0;
    return calls->launch(function, (unsigned int)blocks, 1, 1, THREADS, 1, 1, 0, calls->stream,
                         arguments, NULL);
}

/* A matrix by columns, as BLAS takes it: `op` says whether it is to be transposed. */
typedef struct {
    int op, leading;
} columns;

/* The transpose of a matrix of rows and columns with these strides, one of which is 1. */
static columns transposed(const device_calls *calls, int64_t rows, int64_t count, int64_t row,
                          int64_t column)
{
    if (column == 1 && (row >= count || rows == 1))
        return (columns){calls->no_transpose, (int)MOST(MOST(row, count), 1)};
    return (columns){calls->transpose, (int)MOST(MOST(column, rows), 1)};
}

/* Row-major c = a b is column-major c' = b' a'. */
int multiply(const device_calls *calls, const product *p)
{
    const float one = 1, beta = (float)p->accumulate;
    const double one_double = 1, beta_double = p->accumulate;
    const columns b = transposed(calls, p->K, p->N, p->b_row, p->b_column);
    const columns a = transposed(calls, p->M, p->K, p->a_row, p->a_column);
    if (p->M == 0 || p->N == 0 || (p->K == 0 && p->accumulate))
        return 0;
    return -calls->gemm(calls->blas, b.op, a.op, (int)p->N, (int)p->M, (int)p->K,
                        p->type == F64 ? (const void *)&one_double : &one, p->b,
                        calls->type[p->type], b.leading, p->a, calls->type[p->type], a.leading,
                        p->type == F64 ? (const void *)&beta_double : &beta, p->c,
                        calls->type[p->c_type], (int)MOST(p->c_row, p->N), calls->compute[p->type],
                        calls->algorithm);
}

static int load(const device_calls *calls, const stepped_layer *l, void *state, void *sorted,
                const void *initial)
{
    int64_t batch = l->batch, hidden_size = l->hidden_size;
    const int64_t *order = l->order;
    void *arguments[] = {&state, &sorted, &initial, &order, &batch, &hidden_size};
    return state ? launch_elements(calls, l->load_states, batch * hidden_size, arguments) : 0;
}

static int store(const device_calls *calls, const stepped_layer *l, void *final, const void *state)
{
    int64_t active = l->steps ? l->batch_sizes[0] : 0, batch = l->batch;
    int64_t hidden_size = l->hidden_size;
    const int64_t *order = l->order;
    void *arguments[] = {&final, &state, &order, &active, &batch, &hidden_size};
    return final ? launch_elements(calls, l->store_states, batch * hidden_size, arguments) : 0;
}

/* How many rows of step t take their state from the step that forward runs before it. */
static int64_t rows_before(const stepped_layer *l, int64_t t, int64_t *from)
{
    *from = l->reverse ? t + 1 : t - 1;
    if (*from < 0 || *from >= l->steps)
        return 0;
    return LEAST(l->batch_sizes[*from], l->batch_sizes[t]);
}

/* The input products of the steps [low, high). */
static int input_products(const device_calls *calls, const stepped_forward *p, int64_t low,
                          int64_t high)
{
    const stepped_layer *l = &p->layer;
    const int64_t width = l->gates * l->hidden_size, row = l->offsets[low];
    const product x = {l->storage,
                       l->real,
                       0,
                       l->offsets[high] - row,
                       width,
                       l->input_size,
                       elements_after(p->x, row * p->x_row, l->storage),
                       p->w,
                       p->x_products,
                       p->x_row,
                       1,
                       p->w_in,
                       p->w_out,
                       width};
    return p->w ? multiply(calls, &x) : 0;
}

/* The recurrent products of `rows` rows of states from h on. */
static int recurrent_products(const device_calls *calls, const stepped_forward *p, const void *h,
                              int64_t h_row, int64_t first, int64_t rows)
{
    const stepped_layer *l = &p->layer;
    const int64_t width = l->gates * l->hidden_size;
    const product step = {l->storage,
                          l->real,
                          0,
                          rows,
                          width,
                          l->hidden_size,
                          elements_after(h, first * h_row, l->storage),
                          p->layer.u,
                          elements_after(p->h_products, first * width, l->real),
                          h_row,
                          1,
                          l->u_in,
                          l->u_out,
                          width};
    return multiply(calls, &step);
}

/* Step t, whose input products are `ahead` rows after the first of its chunk. */
static int forward_one(const device_calls *calls, const stepped_forward *p, int64_t t,
                       int64_t ahead)
{
    const stepped_layer *l = &p->layer;
    const int64_t H = l->hidden_size, n = l->batch_sizes[t], row = l->offsets[t];
    int64_t from;
    const int64_t before = rows_before(l, t, &from);
    const void *initial = l->order && p->hx ? p->sorted : p->hx;
    if (before)
        TRY(recurrent_products(
            calls, p, elements_after(p->output, l->offsets[from] * p->output_row, l->storage),
            p->output_row, 0, before));
    if (initial && n > before)
        TRY(recurrent_products(calls, p, initial, H, before, n - before));
    forward_step step = {
        .output = elements_after(p->output, row * p->output_row, l->storage),
        .y = elements_after(p->y, row * p->y_row, l->storage),
        .cells = elements_after(p->cells, row * H, l->real),
        .saved = elements_after(p->saved, row * l->saved * H, l->storage),
        .h = p->h,
        .c = p->c,
        .x_products = p->w ? elements_after(p->x_products, ahead * l->gates * H, l->real) : NULL,
        .x = elements_after(p->x, row * p->x_row, l->storage),
        .h_products = p->h_products,
        .input_bias = p->input_bias,
        .recurrent_bias = p->recurrent_bias,
        .output_row = p->output_row,
        .y_row = p->y_row,
        .x_row = p->x_row,
        .bias_gate = p->bias_gate,
        .rows = n,
        .h_rows = initial ? n : before,
        .hidden_size = H,
    };
    void *arguments[] = {&step};
    return launch_elements(calls, p->pointwise, n * H, arguments);
}

int run_forward(const device_calls *calls, const stepped_forward *p)
{
    const stepped_layer *l = &p->layer;
    TRY(load(calls, l, p->h, l->order && p->hx ? p->sorted : NULL, p->hx));
    TRY(load(calls, l, p->c, NULL, p->cx));
    for (int64_t done = 0; done < l->steps;) {
        /* The next chunk, in the order of the steps that are run: always one step, then as many as
         * there is room for. */
        int64_t count = 0, rows = 0;
        while (done + count < l->steps) {
            const int64_t next = done + count;
            const int64_t n = l->batch_sizes[l->reverse ? l->steps - 1 - next : next];
            if (count && rows + n > p->chunk_rows)
                break;
            rows += n;
            count++;
        }
        const int64_t low = l->reverse ? l->steps - done - count : done;
        TRY(input_products(calls, p, low, low + count));
        for (int64_t i = 0; i < count; i++, done++) {
            const int64_t t = l->reverse ? l->steps - 1 - done : done;
            TRY(forward_one(calls, p, t, l->offsets[t] - l->offsets[low]));
        }
    }
    TRY(store(calls, l, p->hy, p->h));
    return store(calls, l, p->cy, p->c);
}

/* dh of the rows that took part in step `after`: its gates' gradients times the matrices. */
static int passed_on(const device_calls *calls, const stepped_backward *p, int64_t after,
                     int64_t rows)
{
    const stepped_layer *l = &p->layer;
    const product step = {l->storage,
                          l->real,
                          0,
                          rows,
                          l->hidden_size,
                          l->gates * l->hidden_size,
                          elements_after(p->dgates, l->offsets[after] * p->dgates_row, l->storage),
                          l->u,
                          p->products,
                          p->dgates_row,
                          1,
                          l->u_out,
                          l->u_in,
                          l->hidden_size};
    return multiply(calls, &step);
}

/* Step t of n rows, of which `products` get something from the step handled before. */
static int backward_one(const device_calls *calls, const stepped_backward *p, int64_t t, int64_t n,
                        int64_t products)
{
    const stepped_layer *l = &p->layer;
    const int64_t H = l->hidden_size, row = l->offsets[t];
    int64_t from = 0;
    const int64_t before = n ? rows_before(l, t, &from) : 0;
    const int64_t row_before = before ? l->offsets[from] : 0;
    backward_step step = {
        .dgates = elements_after(p->dgates, row * p->dgates_row, l->storage),
        .dh = p->dh,
        .dc = p->dc,
        .dy = elements_after(p->dy, row * p->dy_row, l->storage),
        .mask = p->mask ? (const char *)p->mask + row * p->mask_row : NULL,
        .products = p->products,
        .output = elements_after(p->output, row * p->output_row, l->storage),
        .cells = elements_after(p->cells, row * H, l->real),
        .saved = elements_after(p->saved, row * l->saved * H, l->storage),
        .output_before = elements_after(p->output, row_before * p->output_row, l->storage),
        .cells_before = elements_after(p->cells, row_before * H, l->real),
        .hx = p->hx,
        .cx = p->cx,
        .order = l->order,
        .dgates_row = p->dgates_row,
        .dy_row = p->dy_row,
        .mask_row = p->mask_row,
        .output_row = p->output_row,
        .rows = n,
        .before_rows = before,
        .product_rows = products,
        .hidden_size = H,
        .scale = p->scale,
    };
    void *arguments[] = {&step};
    return launch_elements(calls, p->pointwise, MOST(n, products) * H, arguments);
}

int run_backward(const device_calls *calls, const stepped_backward *p)
{
    const stepped_layer *l = &p->layer;
    TRY(load(calls, l, p->dh, NULL, p->dhy));
    TRY(load(calls, l, p->dc, NULL, p->dcy));
    int64_t after = 0, after_rows = 0;
    /* One step more than there are: it only finishes dhx. */
    for (int64_t step = 0; step <= l->steps; step++) {
        const int64_t t = l->reverse ? step : l->steps - 1 - step;
        const int64_t n = step < l->steps ? l->batch_sizes[t] : 0;
        const int64_t products = p->dhx ? after_rows : LEAST(after_rows, n);
        if (products)
            TRY(passed_on(calls, p, after, products));
        TRY(backward_one(calls, p, n ? t : 0, n, products));
        after = t;
        after_rows = n;
    }
    TRY(store(calls, l, p->dhx, p->dh));
    return store(calls, l, p->dcx, p->dc);
}
