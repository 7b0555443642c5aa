/* tensor_op.c: element-wise combination of two strided tensors. Floating types alone.
 * Elements between strides are neither read nor written. */
#include "storage.h"
#include "strided.h"

#ifndef OP_ADD
#define OP_ADD 0
#define OP_MULTIPLY 1
#define OP_MINIMUM 2
#define OP_MAXIMUM 3
#endif

INLINE real FN(combine)(int op, real a, real b)
{
    switch (op) {
    case OP_ADD: return a + b;
    case OP_MULTIPLY: return a * b;
    case OP_MINIMUM: return a < b ? a : b;
    default: return a > b ? a : b;
    }
}

/* c = op(alpha1 * a, alpha2 * b) + beta * c; beta = 0 does not read c. c may be a or b.
 * A dimension along which b is repeated has stride 0 in b_strides. */
KERNEL FN(op_tensor)(int op, storage *c, walk_strides c_strides, const storage *a,
                     walk_strides a_strides, const storage *b, walk_strides b_strides,
                     walk_shape shape, float alpha1, float alpha2, float beta)
{
    const real of_a = alpha1, of_b = alpha2, of_c = beta;
    EACH(row, shape.rows) {
        storage *out = c + start_of(row, shape, c_strides);
        const storage *left = a + start_of(row, shape, a_strides);
        const storage *right = b + start_of(row, shape, b_strides);
        for (int64_t j = 0; j < shape.columns; j++) {
            real value = FN(combine)(op, of_a * to_real(left[j * a_strides.column]),
                                     of_b * to_real(right[j * b_strides.column]));
            if (of_c != 0)
                value += of_c * to_real(out[j * c_strides.column]);
            out[j * c_strides.column] = to_storage(value);
        }
    }
}
