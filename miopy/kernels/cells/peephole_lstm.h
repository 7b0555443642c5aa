/* LSTM whose gates also see the cell state, k being lstm_clip:
 *     i, f = sigmoid(a + p*k(c))   g = tanh(a_g)   c' = f*k(c) + i*g
 *     o = sigmoid(a_o + p_o*k(c'))   h' = o*tanh(k(c'))
 *   pre: i f g o p_i p_f p_o    states: h c    saved: i f g o, then p_i p_f p_o
 *   scalars: as of LSTM */
#include "lstm.h"

INLINE void peephole_lstm_forward(const real *scalars, const real *pre, const real *prev,
                                  real *next, real *saved)
{
    real c = lstm_clip(prev[1], scalars);
    real i = sigmoid(pre[0] + pre[4] * c), f = sigmoid(pre[1] + pre[5] * c);
    real g = hyperbolic_tangent(pre[2]);
    next[1] = f * c + i * g;
    real read = lstm_clip(next[1], scalars), o = sigmoid(pre[3] + pre[6] * read);
    next[0] = o * hyperbolic_tangent(read);
    saved[0] = i;
    saved[1] = f;
    saved[2] = g;
    saved[3] = o;
}

INLINE void peephole_lstm_backward(const real *scalars, const real *saved, const real *prev,
                                   const real *next, const real *dnext, real *dpre, real *dprev)
{
    real i = saved[0], f = saved[1], g = saved[2], o = saved[3];
    real c = lstm_clip(prev[1], scalars), read = lstm_clip(next[1], scalars);
    real tanh_c = hyperbolic_tangent(read);
    dpre[3] = dnext[0] * tanh_c * o * (1 - o);
    real dread = dnext[0] * o * (1 - tanh_c * tanh_c) + dpre[3] * saved[6];
    real dc = dnext[1] + dread * lstm_passes(next[1], scalars);
    dpre[0] = dc * g * i * (1 - i);
    dpre[1] = dc * c * f * (1 - f);
    dpre[2] = dc * i * (1 - g * g);
    dpre[4] = dpre[0] * c;
    dpre[5] = dpre[1] * c;
    dpre[6] = dpre[3] * read;
    dprev[0] = zero;
    dprev[1] = dc * f + dpre[0] * saved[4] + dpre[1] * saved[5];
    dprev[1] = dprev[1] * lstm_passes(prev[1], scalars);
}
