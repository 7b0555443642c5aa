/* project.c: what is left of a step with a projection beside its product: the product is made into
 * h (rows, size) of the real type by forward, and of dprojected by backward data. */
#include "storage.h"

/* output = h, and y unless it is NULL; their rows are strided. */
KERNEL FN(project_forward)(storage *output, int64_t output_row, storage *y, int64_t y_row,
                           const real *h, int64_t rows, int64_t size)
{
    EACH(e, rows * size) {
        const int64_t b = quotient(e, size), u = e - b * size;
        output[b * output_row + u] = to_storage(h[e]);
        if (y)
            y[b * y_row + u] = to_storage(h[e]);
    }
}

/* dprojected = dy + dh + products, what is known of the gradient of a step's output; dh passes on
 * nothing of it directly. dy counts mask * scale times, once if mask is NULL, and may stand where
 * dprojected is written. Rows from `rows` to product_rows have ended with the step handled before:
 * they only add their product to dh. */
KERNEL FN(project_backward)(storage *dprojected, int64_t dprojected_row, real *dh,
                            const storage *dy, int64_t dy_row, const uint8_t *mask,
                            int64_t mask_row, double scale, const real *products, int64_t rows,
                            int64_t product_rows, int64_t size)
{
    const int64_t most = rows > product_rows ? rows : product_rows;
    EACH(e, most * size) {
        const int64_t b = quotient(e, size), u = e - b * size;
        const real from_after = dh[e] + (b < product_rows ? products[e] : 0);
        if (b >= rows) {
            dh[e] = from_after;
            continue;
        }
        real from_above = to_real(dy[b * dy_row + u]);
        if (mask)
            from_above = mask[b * mask_row + u] ? from_above * (real)scale : 0;
        dprojected[b * dprojected_row + u] = to_storage(from_above + from_after);
        dh[e] = 0;
    }
}
