/* GRU, reset before the product: z, r = sigmoid(a)   n = tanh(a_n)   h' = (1-z)*n + z*h
 *   pre: z r n, n's product being with its operand r*h    states: h    saved: z r n */
#ifndef MIOPY_CELLS_RESET_BEFORE_GRU_H
#define MIOPY_CELLS_RESET_BEFORE_GRU_H
INLINE real reset_before_gru_operand(const real *scalars, const real *pre, const real *prev)
{
    return sigmoid(pre[1]) * prev[0];
}

INLINE void reset_before_gru_forward(const real *scalars, const real *pre, const real *prev,
                                     real *next, real *saved)
{
    real z = sigmoid(pre[0]), n = hyperbolic_tangent(pre[2]);
    next[0] = (1 - z) * n + z * prev[0];
    saved[0] = z;
    saved[1] = sigmoid(pre[1]);
    saved[2] = n;
}

/* All but what comes through the operand. */
INLINE void reset_before_gru_backward(const real *scalars, const real *saved, const real *prev,
                                      const real *next, const real *dnext, real *dpre, real *dprev)
{
    real z = saved[0], n = saved[2];
    dpre[0] = dnext[0] * (prev[0] - n) * z * (1 - z);
    dpre[1] = zero;
    dpre[2] = dnext[0] * (1 - z) * (1 - n * n);
    dprev[0] = dnext[0] * z;
}

/* Adds what comes through the operand, whose gradient is given. */
INLINE void reset_before_gru_operand_backward(const real *scalars, const real *saved,
                                              const real *prev, real doperand, real *dpre,
                                              real *dprev)
{
    real r = saved[1];
    dpre[1] += doperand * prev[0] * r * (1 - r);
    dprev[0] += doperand * r;
}

#endif
