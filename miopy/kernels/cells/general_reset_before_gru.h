/* GRU with any activations, reset before the product; k, which keeps h, is z, or 1-z if flipped:
 *     z, r = act(a)   n = act(a_n)   h' = (1-k)*n + k*h
 *   pre: z r n, n's product being with its operand r*h    states: h    saved: z r n
 *   scalars: as of general_gru */
#include "general_gru.h"

INLINE real general_reset_before_gru_operand(const real *scalars, const real *pre, const real *prev)
{
    return activated(scalars[1], pre[1]) * prev[0];
}

INLINE void general_reset_before_gru_forward(const real *scalars, const real *pre, const real *prev,
                                             real *next, real *saved)
{
    real z = activated(scalars[0], pre[0]), n = activated(scalars[2], pre[2]);
    real keep = general_gru_keep(z, scalars[3]);
    next[0] = (1 - keep) * n + keep * prev[0];
    saved[0] = z;
    saved[1] = activated(scalars[1], pre[1]);
    saved[2] = n;
}

/* All but what comes through the operand. */
INLINE void general_reset_before_gru_backward(const real *scalars, const real *saved,
                                              const real *prev, const real *next, const real *dnext,
                                              real *dpre, real *dprev)
{
    real z = saved[0], n = saved[2], keep = general_gru_keep(z, scalars[3]);
    dpre[0] = dnext[0] * (prev[0] - n) * (1 - 2 * scalars[3]) * steepness(scalars[0], z);
    dpre[1] = zero;
    dpre[2] = dnext[0] * (1 - keep) * steepness(scalars[2], n);
    dprev[0] = dnext[0] * keep;
}

/* Adds what comes through the operand, whose gradient is given. */
INLINE void general_reset_before_gru_operand_backward(const real *scalars, const real *saved,
                                                      const real *prev, real doperand, real *dpre,
                                                      real *dprev)
{
    real r = saved[1];
    dpre[1] += doperand * prev[0] * steepness(scalars[1], r);
    dprev[0] += doperand * r;
}
