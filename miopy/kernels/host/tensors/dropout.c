/* Host entry points of xorwow.c and dropout.c. */
#include "dropout.h"

#include "walk.h"

#define LANES 64
#include "../../xorwow.c"

#define STORAGE F32
#include "../../dropout.c"
#undef STORAGE
#define STORAGE F16
#include "../../dropout.c"
#undef STORAGE
#define STORAGE BF16
#include "../../dropout.c"
#undef STORAGE
#define STORAGE F64
#include "../../dropout.c"
#undef STORAGE

#define LOG2_SUBSEQUENCE 67

static void square_in_place(xorwow_matrix *matrix)
{
    const xorwow_matrix copy = *matrix;
    xorwow_square(matrix, &copy);
}

void initialize_dropout_states(void *states, int64_t nbytes, uint64_t seed)
{
    const int64_t count = nbytes / (int64_t)sizeof(xorwow_state);
    xorwow_matrix jump;
    if (count < 1)
        return;
    xorwow_seed(states, seed);
    xorwow_step(&jump);
    for (int doubling = 0; doubling < LOG2_SUBSEQUENCE; doubling++)
        square_in_place(&jump);
    for (int64_t known = 1; known < count; known *= 2, square_in_place(&jump))
        xorwow_extend(states, known, known < count - known ? known : count - known, &jump);
}

int64_t dropout_states_nbytes(int64_t elements)
{
    return states_used(elements) * (int64_t)sizeof(xorwow_state);
}

void draw_dropout_mask(void *mask, const void *states, int64_t elements, float dropout)
{
    dropout_mask(mask, states, elements, dropout);
}

void advance_dropout_states(void *states, int64_t elements)
{
    const int64_t used = states_used(elements);
    xorwow_advance(states, used, used ? (elements + used - 1) / used : 0);
}

void apply_dropout(int type, int dims, const int64_t *lengths, void *y, const int64_t *y_strides,
                   const void *x, const int64_t *x_strides, const void *mask, float dropout)
{
    const walk_shape shape = shape_of(dims, lengths);
    const walk_strides to = strides_of(dims, y_strides), from = strides_of(dims, x_strides);
    const float scale = dropout == 1 ? 0 : 1 / (1 - dropout);
    switch (type) {
    case F32: dropout_apply_f32(y, to, x, from, mask, shape, scale); break;
    case F16: dropout_apply_f16(y, to, x, from, mask, shape, scale); break;
    case BF16: dropout_apply_bf16(y, to, x, from, mask, shape, scale); break;
    case F64: dropout_apply_f64(y, to, x, from, mask, shape, scale); break;
    }
}
