/* pointwise.c: one step of a recurrence, but for its products, on every (row, unit). */
#include "pointwise.h"

/* One step of forward. h and c of the step's rows are replaced. */
KERNEL FN(pointwise_forward)(forward_step s)
{
    const real scalars[] = SCALARS_OF(s);
    EACH(e, s.rows * s.hidden_size) {
        const int64_t b = quotient(e, s.hidden_size);
        const int64_t u = e - b * s.hidden_size;
        real given[GATES];
        load_given(given, &s, b, u);
        forward_element(&s, scalars, given, b, u);
    }
}

/* One step of backward data, and of the rows that have ended with the step handled before. */
KERNEL FN(pointwise_backward)(backward_step s)
{
    const real scalars[] = SCALARS_OF(s);
    const int64_t rows = s.rows > s.product_rows ? s.rows : s.product_rows;
    EACH(e, rows * s.hidden_size) {
        const int64_t b = quotient(e, s.hidden_size);
        const int64_t u = e - b * s.hidden_size;
        storage passed[PLANES];
        backward_inputs in;
        if (b < s.rows)
            load_backward(&in, &s, b, b < s.before_rows ? b : -1, b, u);
        backward_element(&s, scalars, &in, b, u, passed);
    }
}
