/* Host entry points of tensor.c, tensor_op.c and convert.c. */
#include "tensor.h"

#include "../pool/shares.h"
#include "walk.h"

/* Calls that no pool knows of. */
static const worker alone = {0, 0, 1};

/* y = x of which columns are adjacent. */
#define MOVE_ROWS(name, value_type)                                                          \
    static void move_rows_##name(value_type *y, walk_strides y_strides, const value_type *x, \
                                 walk_strides x_strides, walk_shape shape)                   \
    {                                                                                        \
        EACH(row, shape.rows)                                                                \
            memcpy(y + start_of(row, shape, y_strides), x + start_of(row, shape, x_strides), \
                   shape.columns * sizeof *y);                                               \
    }
MOVE_ROWS(f32, float)
MOVE_ROWS(f16, uint16_t)
MOVE_ROWS(bf16, uint16_t)
MOVE_ROWS(f64, double)
MOVE_ROWS(i32, int32_t)
MOVE_ROWS(i8, int8_t)
MOVE_ROWS(i64, int64_t)

#define STORAGE F32
#include "../../tensor.c"
#include "../../tensor_op.c"
#undef STORAGE
#define STORAGE F16
#include "../../tensor.c"
#include "../../tensor_op.c"
#undef STORAGE
#define STORAGE BF16
#include "../../tensor.c"
#include "../../tensor_op.c"
#undef STORAGE
#define STORAGE F64
#include "../../tensor.c"
#include "../../tensor_op.c"
#undef STORAGE
#define STORAGE I32
#include "../../tensor.c"
#undef STORAGE
#define STORAGE I8
#include "../../tensor.c"
#undef STORAGE
#define STORAGE I64
#include "../../tensor.c"
#undef STORAGE
#include "../../convert.c"

/* CALL(type's name, C type) for the type at hand. */
#define FOR_FLOATING(CALL)                  \
    case F32: CALL(f32, float); break;      \
    case F16: CALL(f16, uint16_t); break;   \
    case BF16: CALL(bf16, uint16_t); break; \
    case F64: CALL(f64, double); break;
#define FOR_ANY(CALL)                    \
    FOR_FLOATING(CALL)                   \
    case I32: CALL(i32, int32_t); break; \
    case I8: CALL(i8, int8_t); break;    \
    case I64: CALL(i64, int64_t); break;

void set_tensor(int type, int dims, const int64_t *lengths, void *y, const int64_t *y_strides,
                const void *alpha)
{
    const walk_shape shape = shape_of(dims, lengths);
    const walk_strides to = strides_of(dims, y_strides);
    here = alone;
#define SET(name, value_type) set_tensor_##name(y, to, shape, *(const value_type *)alpha)
    switch (type) {
        FOR_ANY(SET)
    }
}

void scale_tensor(int type, int dims, const int64_t *lengths, void *y, const int64_t *y_strides,
                  const void *alpha)
{
    const walk_shape shape = shape_of(dims, lengths);
    const walk_strides to = strides_of(dims, y_strides);
    here = alone;
#define SCALE(name, value_type) scale_tensor_##name(y, to, shape, *(const value_type *)alpha)
    switch (type) {
        FOR_ANY(SCALE)
    }
}

/* Multiply-adds that take as long as reading or writing an element. */
enum { READING = 4 };

/* Workers share rows. */
static int64_t work_of(int dims, const int64_t *lengths)
{
    const walk_shape shape = shape_of(dims, lengths);
    return shape.rows > 1 ? READING * shape.rows * shape.columns : 0;
}

/* Whether y = x, bit by bit. */
static int is_move(const transform_call *call)
{
    static const int16_t one_f16 = 0x3c00, one_bf16 = 0x3f80;
    static const char nothing[8];
    const float one_f32 = 1;
    const double one_f64 = 1;
    const int32_t one_i32 = 1;
    const int8_t one_i8 = 1;
    const int64_t one_i64 = 1;
    const void *const ones[] = {&one_f32, &one_f16, &one_bf16, &one_f64,
                                &one_i32, &one_i8,  &one_i64};
    const int64_t nbytes[] = {4, 2, 2, 8, 4, 1, 8};
    const int64_t size = nbytes[call->type];
    return !memcmp(call->alpha, ones[call->type], size) && !memcmp(call->beta, nothing, size);
}

static void run_transform(void *arg, worker w)
{
    const transform_call *call = arg;
    const walk_shape shape = shape_of(call->dims, call->lengths);
    const walk_strides to = strides_of(call->dims, call->y_strides),
                       from = strides_of(call->dims, call->x_strides);
    here = w;
#define TRANSFORM_ELEMENTS(name, value_type)                                       \
    if (to.column == 1 && from.column == 1 && call->y != call->x && is_move(call)) \
        move_rows_##name(call->y, to, call->x, from, shape);                       \
    else                                                                           \
        transform_tensor_##name(call->y, to, call->x, from, shape,                 \
                                *(const value_type *)call->alpha, *(const value_type *)call->beta)
    switch (call->type) {
        FOR_ANY(TRANSFORM_ELEMENTS)
    }
}

void transform_tensor(pool *p, const transform_call *call)
{
    pool_run(p, (effort){work_of(call->dims, call->lengths)}, run_transform, (void *)call);
}

static void run_combine(void *arg, worker w)
{
    const combine_call *call = arg;
    const walk_shape shape = shape_of(call->dims, call->lengths);
    const walk_strides to = strides_of(call->dims, call->c_strides),
                       left = strides_of(call->dims, call->a_strides),
                       right = strides_of(call->dims, call->b_strides);
    here = w;
#define COMBINE_ELEMENTS(name, value_type)                                                      \
    op_tensor_##name(call->op, call->c, to, call->a, left, call->b, right, shape, call->alpha1, \
                     call->alpha2, call->beta)
    switch (call->type) {
        FOR_FLOATING(COMBINE_ELEMENTS)
    }
}

void combine_tensors(pool *p, const combine_call *call)
{
    pool_run(p, (effort){work_of(call->dims, call->lengths)}, run_combine, (void *)call);
}

void convert(const convert_call *call)
{
    here = alone;
    convert_tensor((conversion){
        .y = call->y,
        .x = call->x,
        .scales = call->scales,
        .y_strides = strides_of(call->dims, call->y_strides),
        .x_strides = strides_of(call->dims, call->x_strides),
        .scale_strides = strides_of(call->dims, call->scale_strides),
        .shape = shape_of(call->dims, call->lengths),
        .y_type = call->y_type,
        .x_type = call->x_type,
        .shift = call->shift,
    });
}
