/* Vanilla cell: h' = relu(a)
 *   pre: a    states: h    saved: nothing, h' > 0 where a > 0 */
INLINE void relu_forward(const real *scalars, const real *pre, const real *prev, real *next,
                         real *saved)
{
    next[0] = relu(pre[0]);
}

INLINE void relu_backward(const real *scalars, const real *saved, const real *prev,
                          const real *next, const real *dnext, real *dpre, real *dprev)
{
    dpre[0] = dnext[0] * is_positive(next[0]);
    dprev[0] = zero;
}
