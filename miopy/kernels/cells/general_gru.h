/* GRU with any activations, reset after the product; k, which keeps h, is z, or 1-z if flipped:
 *     z, r = act(a)   n = act(n_x + r*n_h)   h' = (1-k)*n + k*h
 *   pre: z r n_h n_x    states: h    saved: z r n n_h
 *   scalars: the activations of z r n, and 1 if flipped, else 0 */
#ifndef MIOPY_CELLS_GENERAL_GRU_H
#define MIOPY_CELLS_GENERAL_GRU_H
#include "activation.h"

INLINE real general_gru_keep(real z, real flip) { return flip + (1 - 2 * flip) * z; }

INLINE void general_gru_forward(const real *scalars, const real *pre, const real *prev, real *next,
                                real *saved)
{
    real z = activated(scalars[0], pre[0]), r = activated(scalars[1], pre[1]);
    real n = activated(scalars[2], pre[3] + r * pre[2]), keep = general_gru_keep(z, scalars[3]);
    next[0] = (1 - keep) * n + keep * prev[0];
    saved[0] = z;
    saved[1] = r;
    saved[2] = n;
    saved[3] = pre[2];
}

INLINE void general_gru_backward(const real *scalars, const real *saved, const real *prev,
                                 const real *next, const real *dnext, real *dpre, real *dprev)
{
    real z = saved[0], r = saved[1], n = saved[2], n_h = saved[3];
    real keep = general_gru_keep(z, scalars[3]), dkeep = dnext[0] * (prev[0] - n);
    real dn = dnext[0] * (1 - keep) * steepness(scalars[2], n);
    dpre[0] = dkeep * (1 - 2 * scalars[3]) * steepness(scalars[0], z);
    dpre[1] = dn * n_h * steepness(scalars[1], r);
    dpre[2] = dn * r;
    dpre[3] = dn;
    dprev[0] = dnext[0] * keep;
}

#endif
