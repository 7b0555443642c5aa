/* Vanilla cell: h' = sigmoid(a)
 *   pre: a    states: h    saved: nothing */
INLINE void logistic_forward(const real *scalars, const real *pre, const real *prev, real *next,
                             real *saved)
{
    next[0] = sigmoid(pre[0]);
}

INLINE void logistic_backward(const real *scalars, const real *saved, const real *prev,
                              const real *next, const real *dnext, real *dpre, real *dprev)
{
    dpre[0] = dnext[0] * next[0] * (1 - next[0]);
    dprev[0] = zero;
}
