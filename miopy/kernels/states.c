/* states.c: initial and final states, between the caller's arrays (batch, H) of storage and the
 * real arrays that the steps work on. Row b of the latter is row order[b] of the caller's; b if
 * order is NULL. */
#include "storage.h"

/* state = initial in the steps' order, or 0 if initial is NULL. sorted, unless NULL, gets the same
 * in storage: what a product reads. */
KERNEL FN(load_states)(real *state, storage *sorted, const storage *initial, const int64_t *order,
                       int64_t batch, int64_t hidden_size)
{
    EACH(e, batch * hidden_size) {
        const int64_t b = quotient(e, hidden_size), u = e - b * hidden_size;
        const storage value = initial ? initial[(order ? order[b] : b) * hidden_size + u] : 0;
        state[e] = to_real(value);
        if (sorted)
            sorted[e] = value;
    }
}

/* final = state in the caller's order; 0 for rows from `active` on, which took no step. */
KERNEL FN(store_states)(storage *final, const real *state, const int64_t *order, int64_t active,
                        int64_t batch, int64_t hidden_size)
{
    EACH(e, batch * hidden_size) {
        const int64_t b = quotient(e, hidden_size), u = e - b * hidden_size;
        final[(order ? order[b] : b) * hidden_size + u] = to_storage(b < active ? state[e] : 0);
    }
}
