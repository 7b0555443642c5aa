/* quantized.c: the steps of inference on 8-bit codes. As in forward.c, input products run ahead, a
 * chunk of steps at a time. */
#include "../quantized.h"

#include "product.h"
#include "quantized.h"

static int multiply_codes(const device_calls *calls, const quantized_run *p, integer_product *s)
{
    void *arguments[] = {s};
    return launch_elements(calls, p->multiply, s->M * s->N, arguments);
}

/* The input products of the steps [low, high). */
static int input_products(const device_calls *calls, const quantized_run *p, int64_t low,
                          int64_t high)
{
    const int64_t width = p->gates * p->step.hidden_size;
    integer_product x = {
        .c = p->x_products,
        .a = (const char *)p->x + low * p->x_step,
        .b = p->w,
        .M = (high - low) * p->step.rows,
        .N = width,
        .K = p->input_size,
        .batch = p->step.rows,
        .a_step = p->x_step,
        .a_row = p->x_row,
        .c_row = width,
        .is_signed = p->step.data.is_signed,
    };
    return multiply_codes(calls, p, &x);
}

/* Recurrent products of the gates [low, high) with dense codes (N, size). */
static int gate_products(const device_calls *calls, const quantized_run *p, const void *codes,
                         int64_t low, int64_t high)
{
    const int64_t H = p->step.hidden_size;
    integer_product h = {
        .c = p->h_products + low * H,
        .a = codes,
        .b = p->u + low * H * p->state_size,
        .M = p->step.rows,
        .N = (high - low) * H,
        .K = p->state_size,
        .batch = p->step.rows,
        .a_row = p->state_size,
        .c_row = p->gates * H,
        .is_signed = p->step.data.is_signed,
    };
    return multiply_codes(calls, p, &h);
}

static int project(const device_calls *calls, const quantized_run *p, void *to)
{
    integer_product h = {
        .c = p->projected,
        .a = p->operand,
        .b = p->matrix,
        .M = p->step.rows,
        .N = p->state_size,
        .K = p->step.hidden_size,
        .batch = p->step.rows,
        .a_row = p->step.hidden_size,
        .c_row = p->state_size,
        .is_signed = p->step.data.is_signed,
    };
    quantized_projection s = p->projection;
    void *arguments[] = {&s};
    s.to = to;
    TRY(multiply_codes(calls, p, &h));
    return launch_elements(calls, p->project, s.rows * s.size, arguments);
}

/* The step from state h to state `to`, codes (N, S) each; `ahead` steps after the first of its
 * chunk. */
static int one_step(const device_calls *calls, const quantized_run *p, const void *h, void *to,
                    int64_t ahead)
{
    quantized_step s = p->step;
    const int64_t units = s.rows * s.hidden_size;
    const int early = p->make_operand ? p->gates - 1 : p->gates;
    void *arguments[] = {&s};
    s.h = h;
    s.x_products = p->x_products + ahead * units * p->gates;
    s.h_products = p->h_products;
    TRY(gate_products(calls, p, h, 0, early));
    if (p->make_operand) {
        s.to = p->operand;
        TRY(launch_elements(calls, p->make_operand, units, arguments));
        TRY(gate_products(calls, p, p->operand, early, p->gates));
    }
    s.to = p->project ? p->operand : to;
    TRY(launch_elements(calls, p->cell, units, arguments));
    return p->project ? project(calls, p, to) : 0;
}

int run_quantized(const device_calls *calls, const quantized_run *p)
{
    const int64_t state = p->step.rows * p->state_size;
    const void *h = p->initial;
    for (int64_t done = 0; done < p->steps;) {
        const int64_t end = LEAST(done + p->chunk_steps, p->steps);
        const int64_t low = p->reverse ? p->steps - end : done;
        TRY(input_products(calls, p, low, low + end - done));
        for (; done < end; done++) {
            const int64_t t = p->reverse ? p->steps - 1 - done : done;
            void *to = (char *)p->output + t * state;
            TRY(one_step(calls, p, h, to, t - low));
            h = to;
        }
    }
    return 0;
}
