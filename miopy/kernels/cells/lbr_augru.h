/* GRU, reset after the product, with attention t: w = (1-t)*z in place of z
 *     z, r = sigmoid(a)   n = tanh(n_x + r*n_h)   h' = (1-w)*n + w*h
 *   pre: z r n_h n_x t    states: h    saved: z r n n_h, then t
 *   scalars: whether backward is what oneDNN has, as if w were z but in dz */
INLINE void lbr_augru_forward(const real *scalars, const real *pre, const real *prev, real *next,
                              real *saved)
{
    real z = sigmoid(pre[0]), r = sigmoid(pre[1]), w = (1 - pre[4]) * z;
    real n = hyperbolic_tangent(pre[3] + r * pre[2]);
    next[0] = (1 - w) * n + w * prev[0];
    saved[0] = z;
    saved[1] = r;
    saved[2] = n;
    saved[3] = pre[2];
}

INLINE void lbr_augru_backward(const real *scalars, const real *saved, const real *prev,
                               const real *next, const real *dnext, real *dpre, real *dprev)
{
    const int as_onednn = integer_of(scalars[0]);
    real z = saved[0], r = saved[1], n = saved[2], n_h = saved[3];
    real w = as_onednn ? z : (1 - saved[4]) * z;
    real dw = dnext[0] * (prev[0] - n), dn = dnext[0] * (1 - w) * (1 - n * n);
    dpre[0] = dw * (1 - saved[4]) * z * (1 - z);
    dpre[1] = dn * n_h * r * (1 - r);
    dpre[2] = dn * r;
    dpre[3] = dn;
    dpre[4] = -dw * z * (as_onednn ? z * (1 - z) : real_of(1));
    dprev[0] = dnext[0] * w;
}
