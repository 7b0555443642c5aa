/* dropout.c: apply a dropout mask (drawn by xorwow.c). Forward and backward are the same map. */
#include "storage.h"
#include "strided.h"

/* y = mask ? x * scale : 0; mask is dense, in row-major order of the elements. The scale is
 * rounded to storage first, as a product of two storage numbers has it. y may be x. */
KERNEL FN(dropout_apply)(storage *y, walk_strides y_strides, const storage *x,
                         walk_strides x_strides, const uint8_t *mask, walk_shape shape, float scale)
{
    const real factor = to_real(to_storage((real)scale));
    EACH(row, shape.rows) {
        storage *out = y + start_of(row, shape, y_strides);
        const storage *in = x + start_of(row, shape, x_strides);
        const uint8_t *keep = mask + row * shape.columns;
        for (int64_t j = 0; j < shape.columns; j++) {
            const real scaled = factor * to_real(in[j * x_strides.column]);
            out[j * y_strides.column] = to_storage(keep[j] ? scaled : 0);
        }
    }
}
