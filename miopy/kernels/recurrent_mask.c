/* recurrent_mask.c: a mask on what the recurrent matrices multiply, the same in every step.
 * mask (batch, size); row b of a step is of sequence order[b], of b if order is NULL. */
#include "storage.h"

/* masked (rows, size) = state * mask, what a step's products read. */
KERNEL FN(mask_states)(storage *masked, const real *state, const storage *mask,
                       const int64_t *order, int64_t rows, int64_t size)
{
    EACH(e, rows * size) {
        const int64_t b = quotient(e, size), u = e - b * size;
        masked[e] = to_storage(state[e] * to_real(mask[(order ? order[b] : b) * size + u]));
    }
}

/* products (rows, size) *= mask, what backward data passes on through these matrices. */
KERNEL FN(mask_products)(real *products, const storage *mask, const int64_t *order, int64_t rows,
                         int64_t size)
{
    EACH(e, rows * size) {
        const int64_t b = quotient(e, size), u = e - b * size;
        products[e] *= to_real(mask[(order ? order[b] : b) * size + u]);
    }
}
