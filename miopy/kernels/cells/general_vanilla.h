/* Vanilla cell with any activation: h' = act(a)
 *   pre: a    states: h    saved: a, for the caller    scalars: the activation */
#include "activation.h"

INLINE void general_vanilla_forward(const real *scalars, const real *pre, const real *prev,
                                    real *next, real *saved)
{
    next[0] = activated(scalars[0], pre[0]);
    saved[0] = pre[0];
}

INLINE void general_vanilla_backward(const real *scalars, const real *saved, const real *prev,
                                     const real *next, const real *dnext, real *dpre, real *dprev)
{
    dpre[0] = dnext[0] * steepness(scalars[0], next[0]);
    dprev[0] = zero;
}
