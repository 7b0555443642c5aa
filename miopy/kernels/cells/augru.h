/* GRU, reset before the product, with attention t: w = (1-t)*z in place of z
 *     z, r = sigmoid(a)   n = tanh(a_n)   h' = (1-w)*n + w*h
 *   pre: z r n t, n's product being with its operand r*h    states: h    saved: z r n, then t
 *   scalars: whether backward is what oneDNN has, as if w were z but in dz */
#include "reset_before_gru.h"

INLINE real augru_operand(const real *scalars, const real *pre, const real *prev)
{
    return reset_before_gru_operand(scalars, pre, prev);
}

INLINE void augru_forward(const real *scalars, const real *pre, const real *prev, real *next,
                          real *saved)
{
    real z = sigmoid(pre[0]), n = hyperbolic_tangent(pre[2]), w = (1 - pre[3]) * z;
    next[0] = (1 - w) * n + w * prev[0];
    saved[0] = z;
    saved[1] = sigmoid(pre[1]);
    saved[2] = n;
}

/* All but what comes through the operand. */
INLINE void augru_backward(const real *scalars, const real *saved, const real *prev,
                           const real *next, const real *dnext, real *dpre, real *dprev)
{
    const int as_onednn = integer_of(scalars[0]);
    real z = saved[0], n = saved[2], w = as_onednn ? z : (1 - saved[3]) * z;
    real dw = dnext[0] * (prev[0] - n);
    dpre[0] = dw * (1 - saved[3]) * z * (1 - z);
    dpre[1] = zero;
    dpre[2] = dnext[0] * (1 - w) * (1 - n * n);
    dpre[3] = -dw * z * (as_onednn ? z * (1 - z) : real_of(1));
    dprev[0] = dnext[0] * w;
}

INLINE void augru_operand_backward(const real *scalars, const real *saved, const real *prev,
                                   real doperand, real *dpre, real *dprev)
{
    reset_before_gru_operand_backward(scalars, saved, prev, doperand, dpre, dprev);
}
