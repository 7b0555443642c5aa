/* states.c: initial and final states, between the caller's arrays (batch, size) of storage and the
 * real arrays that the steps work on. Row b of the latter is row order[b] of the caller's; b if
 * order is NULL. h and c are moved in one launch, which takes longer to begin than to move either;
 * the size of one that there is not is 0. */
#include "storage.h"

INLINE void FN(load_state)(real *state, storage *sorted, const storage *initial,
                           const int64_t *order, int64_t size, int64_t e)
{
    const int64_t b = quotient(e, size), u = e - b * size;
    const storage value = initial ? initial[(order ? order[b] : b) * size + u] : 0;
    state[e] = to_real(value);
    if (sorted)
        sorted[e] = value;
}

/* Each state = its initial one in the steps' order, or 0 if that is NULL. sorted, unless NULL, gets
 * h in storage: what a product reads. */
KERNEL FN(load_states)(real *h, storage *sorted, const storage *hx, int64_t h_size, real *c,
                       const storage *cx, int64_t c_size, const int64_t *order, int64_t batch)
{
    EACH(e, batch * (h_size + c_size)) {
        const int64_t of_c = e - batch * h_size;
        if (of_c < 0)
            FN(load_state)(h, sorted, hx, order, h_size, e);
        else
            FN(load_state)(c, 0, cx, order, c_size, of_c);
    }
}

INLINE void FN(store_state)(storage *final, const real *state, const int64_t *order, int64_t active,
                            int64_t size, int64_t e)
{
    const int64_t b = quotient(e, size), u = e - b * size;
    final[(order ? order[b] : b) * size + u] = to_storage(b < active ? state[e] : 0);
}

/* Each final state = the state in the caller's order; 0 for rows from `active` on, which took no
 * step. */
KERNEL FN(store_states)(storage *hy, const real *h, int64_t h_size, storage *cy, const real *c,
                        int64_t c_size, const int64_t *order, int64_t active, int64_t batch)
{
    EACH(e, batch * (h_size + c_size)) {
        const int64_t of_c = e - batch * h_size;
        if (of_c < 0)
            FN(store_state)(hy, h, order, active, h_size, e);
        else
            FN(store_state)(cy, c, order, active, c_size, of_c);
    }
}
