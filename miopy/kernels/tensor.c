/* tensor.c: element-wise operations on strided tensors of any type: set, scale, transform.
 * Elements between strides are neither read nor written. */
#include "storage.h"
#include "strided.h"

/* y = alpha */
KERNEL FN(set_tensor)(storage *y, walk_strides y_strides, walk_shape shape, storage alpha)
{
    EACH(row, shape.rows) {
        storage *out = y + start_of(row, shape, y_strides);
        for (int64_t j = 0; j < shape.columns; j++)
            out[j * y_strides.column] = alpha;
    }
}

/* y = alpha * y */
KERNEL FN(scale_tensor)(storage *y, walk_strides y_strides, walk_shape shape, storage alpha)
{
    const real factor = to_real(alpha);
    EACH(row, shape.rows) {
        storage *out = y + start_of(row, shape, y_strides);
        for (int64_t j = 0; j < shape.columns; j++)
            out[j * y_strides.column] = to_storage(factor * to_real(out[j * y_strides.column]));
    }
}

/* y = alpha * x + beta * y; beta = 0 does not read y. y may be x. */
KERNEL FN(transform_tensor)(storage *y, walk_strides y_strides, const storage *x,
                            walk_strides x_strides, walk_shape shape, storage alpha, storage beta)
{
    const real of_x = to_real(alpha), of_y = to_real(beta);
    EACH(row, shape.rows) {
        storage *out = y + start_of(row, shape, y_strides);
        const storage *in = x + start_of(row, shape, x_strides);
        for (int64_t j = 0; j < shape.columns; j++) {
            real value = of_x * to_real(in[j * x_strides.column]);
            if (of_y != 0)
                value += of_y * to_real(out[j * y_strides.column]);
            out[j * y_strides.column] = to_storage(value);
        }
    }
}
