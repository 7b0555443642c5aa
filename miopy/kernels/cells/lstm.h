/* LSTM: i, f, o = sigmoid(a)   g = tanh(a_g)   c' = f*c + i*g   h' = o*tanh(c')
 *   pre: i f g o    states: h c    saved: i f g o */
INLINE void lstm_forward(const real *pre, const real *prev, real *next, real *saved)
{
    real i = sigmoid(pre[0]), f = sigmoid(pre[1]);
    real g = hyperbolic_tangent(pre[2]), o = sigmoid(pre[3]);
    next[1] = f * prev[1] + i * g;
    next[0] = o * hyperbolic_tangent(next[1]);
    saved[0] = i;
    saved[1] = f;
    saved[2] = g;
    saved[3] = o;
}

INLINE void lstm_backward(const real *saved, const real *prev, const real *next, const real *dnext,
                          real *dpre, real *dprev)
{
    real i = saved[0], f = saved[1], g = saved[2], o = saved[3];
    real tanh_c = hyperbolic_tangent(next[1]);
    real dc = dnext[1] + dnext[0] * o * (1 - tanh_c * tanh_c);
    dpre[0] = dc * g * i * (1 - i);
    dpre[1] = dc * prev[1] * f * (1 - f);
    dpre[2] = dc * i * (1 - g * g);
    dpre[3] = dnext[0] * tanh_c * o * (1 - o);
    dprev[0] = zero;
    dprev[1] = dc * f;
}
