/* LSTM with any activations, whose gates all see the cell state before the step:
 *     i, f, g, o = act(a + p*c)   c' = f*c + i*g   h' = o*act_h(c')
 *   pre: i f g o p_i p_f p_g p_o    states: h c    saved: i f g o, then p_i p_f p_g p_o
 *   scalars: the activations of i f g o h */
#include "activation.h"

INLINE void general_lstm_forward(const real *scalars, const real *pre, const real *prev, real *next,
                                 real *saved)
{
    for (int gate = 0; gate < 4; gate++)
        saved[gate] = activated(scalars[gate], pre[gate] + pre[4 + gate] * prev[1]);
    next[1] = saved[1] * prev[1] + saved[0] * saved[2];
    next[0] = saved[3] * activated(scalars[4], next[1]);
}

INLINE void general_lstm_backward(const real *scalars, const real *saved, const real *prev,
                                  const real *next, const real *dnext, real *dpre, real *dprev)
{
    real i = saved[0], f = saved[1], g = saved[2], o = saved[3];
    real output = activated(scalars[4], next[1]);
    real dc = dnext[1] + dnext[0] * o * steepness(scalars[4], output);
    real dgate[] = {dc * g, dc * prev[1], dc * i, dnext[0] * output};
    dprev[0] = zero;
    dprev[1] = dc * f;
    for (int gate = 0; gate < 4; gate++) {
        dpre[gate] = dgate[gate] * steepness(scalars[gate], saved[gate]);
        dpre[4 + gate] = dpre[gate] * prev[1];
        dprev[1] += dpre[gate] * saved[4 + gate];
    }
}
