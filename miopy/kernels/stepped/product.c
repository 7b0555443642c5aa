/* product.c: launches and products, what the loops over the steps are made of. No synchronisation
 * and no allocation: everything is put on the stream of `calls`, which may be captured. */
#include "product.h"

#define THREADS 256

void *element(const void *array, int64_t at, int type)
{
    static const int64_t nbytes[] = {[F32] = 4, [F16] = 2, [BF16] = 2, [F64] = 8};
    return array ? (char *)array + at * nbytes[type] : NULL;
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

int load_states(const device_calls *calls, const stepped_layer *l, moved_state h, moved_state c,
                void *sorted)
{
    int64_t batch = l->batch, h_size = h.to ? h.size : 0, c_size = c.to ? c.size : 0;
    void *arguments[] = {&h.to,   &sorted, &h.from,           &h_size, &c.to,
                         &c.from, &c_size, (void *)&l->order, &batch};
    return launch_elements(calls, l->load_states, batch * (h_size + c_size), arguments);
}

int store_states(const device_calls *calls, const stepped_layer *l, moved_state h, moved_state c)
{
    int64_t active = l->steps ? l->batch_sizes[0] : 0, batch = l->batch;
    int64_t h_size = h.to ? h.size : 0, c_size = c.to ? c.size : 0;
    void *arguments[] = {&h.to,   &h.from,           &h_size, &c.to, &c.from,
                         &c_size, (void *)&l->order, &active, &batch};
    if (l->idle_keeps_state)
        active = batch;
    return launch_elements(calls, l->store_states, batch * (h_size + c_size), arguments);
}

block_steps block_steps_of(const stepped_layer *l, step_run steps, int capacity)
{
    return (block_steps){
        .offsets = l->uploaded,
        .steps = l->steps,
        .low = steps.low,
        .high = steps.high,
        .batch = l->batch,
        .hidden_size = l->hidden_size,
        .reverse = l->reverse,
        .capacity = capacity,
    };
}

gate_run early_gates(const stepped_layer *l, int run)
{
    if (run)
        return (gate_run){l->late < 0 ? l->gates : l->late + 1, l->gates};
    return (gate_run){0, l->late < 0 ? l->gates : l->late};
}

int64_t rows_before(const stepped_layer *l, int64_t t, int64_t *from)
{
    *from = l->reverse ? t + 1 : t - 1;
    if (*from < 0 || *from >= l->steps)
        return 0;
    return LEAST(l->batch_sizes[*from], l->batch_sizes[t]);
}
