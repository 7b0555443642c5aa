/* LSTM: i, f, o = sigmoid(a)   g = tanh(a_g)   c' = f*clip(c) + i*g   h' = o*tanh(clip(c'))
 *   pre: i f g o    states: h c    saved: i f g o    scalars: the bounds of clip, and what NaN
 * becomes. Without clipping the bounds are infinite and NaN becomes NaN. */
#ifndef MIOPY_CELLS_LSTM_H
#define MIOPY_CELLS_LSTM_H
INLINE real lstm_clip(real c, const real *scalars)
{
    real bounded = pick(c < scalars[0], scalars[0], pick(c > scalars[1], scalars[1], c));
    return pick(c == c, bounded, scalars[2]);
}

/* The derivative of clip. */
INLINE real lstm_passes(real c, const real *scalars)
{
    return pick((c >= scalars[0]) & (c <= scalars[1]), zero + 1, zero);
}

/* What h' reads of c'. The host runs this for several rows after the rest, so that their chains of
 * operations run beside each other. */
INLINE real lstm_read(real c, const real *scalars)
{
    return hyperbolic_tangent(lstm_clip(c, scalars));
}

INLINE void lstm_forward(const real *scalars, const real *pre, const real *prev, real *next,
                         real *saved)
{
    real i = sigmoid(pre[0]), f = sigmoid(pre[1]);
    real g = hyperbolic_tangent(pre[2]), o = sigmoid(pre[3]);
    next[1] = f * lstm_clip(prev[1], scalars) + i * g;
    next[0] = o * lstm_read(next[1], scalars);
    saved[0] = i;
    saved[1] = f;
    saved[2] = g;
    saved[3] = o;
}

INLINE void lstm_backward(const real *scalars, const real *saved, const real *prev,
                          const real *next, const real *dnext, real *dpre, real *dprev)
{
    real i = saved[0], f = saved[1], g = saved[2], o = saved[3];
    real tanh_c = lstm_read(next[1], scalars);
    real dclip = dnext[0] * o * (1 - tanh_c * tanh_c);
    real dc = dnext[1] + dclip * lstm_passes(next[1], scalars);
    dpre[0] = dc * g * i * (1 - i);
    dpre[1] = dc * lstm_clip(prev[1], scalars) * f * (1 - f);
    dpre[2] = dc * i * (1 - g * g);
    dpre[3] = dnext[0] * tanh_c * o * (1 - o);
    dprev[0] = zero;
    dprev[1] = dc * f * lstm_passes(prev[1], scalars);
}

#endif
