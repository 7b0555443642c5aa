/* Vanilla cell: h' = a where a is positive, else slope * a
 *   pre: a    states: h    saved: a, the sign of h' says nothing if slope is negative
 *   scalars: slope */
INLINE void leaky_relu_forward(const real *scalars, const real *pre, const real *prev, real *next,
                               real *saved)
{
    next[0] = pick(pre[0] > zero, pre[0], scalars[0] * pre[0]);
    saved[0] = pre[0];
}

INLINE void leaky_relu_backward(const real *scalars, const real *saved, const real *prev,
                                const real *next, const real *dnext, real *dpre, real *dprev)
{
    dpre[0] = dnext[0] * pick(saved[0] > zero, zero + 1, scalars[0]);
    dprev[0] = zero;
}
