/* Host entry points of tensor.c, tensor_op.c and convert.c. */
#include "tensor.h"

#include "walk.h"

#define STORAGE F32
#include "../tensor.c"
#include "../tensor_op.c"
#undef STORAGE
#define STORAGE F16
#include "../tensor.c"
#include "../tensor_op.c"
#undef STORAGE
#define STORAGE BF16
#include "../tensor.c"
#include "../tensor_op.c"
#undef STORAGE
#define STORAGE F64
#include "../tensor.c"
#include "../tensor_op.c"
#undef STORAGE
#define STORAGE I32
#include "../tensor.c"
#undef STORAGE
#define STORAGE I8
#include "../tensor.c"
#undef STORAGE
#define STORAGE I64
#include "../tensor.c"
#undef STORAGE
#include "../convert.c"

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
#define SCALE(name, value_type) scale_tensor_##name(y, to, shape, *(const value_type *)alpha)
    switch (type) {
        FOR_ANY(SCALE)
    }
}

void transform_tensor(int type, int dims, const int64_t *lengths, void *y, const int64_t *y_strides,
                      const void *x, const int64_t *x_strides, const void *alpha, const void *beta)
{
    const walk_shape shape = shape_of(dims, lengths);
    const walk_strides to = strides_of(dims, y_strides), from = strides_of(dims, x_strides);
#define TRANSFORM(name, value_type)                                            \
    transform_tensor_##name(y, to, x, from, shape, *(const value_type *)alpha, \
                            *(const value_type *)beta)
    switch (type) {
        FOR_ANY(TRANSFORM)
    }
}

void op_tensor(int type, int op, int dims, const int64_t *lengths, void *c,
               const int64_t *c_strides, const void *a, const int64_t *a_strides, const void *b,
               const int64_t *b_strides, float alpha1, float alpha2, float beta)
{
    const walk_shape shape = shape_of(dims, lengths);
    const walk_strides to = strides_of(dims, c_strides), left = strides_of(dims, a_strides),
                       right = strides_of(dims, b_strides);
#define OP(name, value_type) \
    op_tensor_##name(op, c, to, a, left, b, right, shape, alpha1, alpha2, beta)
    switch (type) {
        FOR_FLOATING(OP)
    }
}

void convert(const convert_call *call)
{
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
