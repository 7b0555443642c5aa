/* Activations that are chosen when running: their numbers are places in ACTIVATIONS of
 * core/cells.py. */
#ifndef MIOPY_CELLS_ACTIVATION_H
#define MIOPY_CELLS_ACTIVATION_H
INLINE real hard_sigmoid(real x)
{
    real line = real_of(0.2) * x + real_of(0.5);
    return pick(line < zero, zero, pick(line > 1, real_of(1), line));
}

INLINE real activated(real number, real x)
{
    switch (integer_of(number)) {
    case 1: return relu(x);
    case 2: return hyperbolic_tangent(x);
    case 3: return sigmoid(x);
    case 4: return hard_sigmoid(x);
    default: return x;
    }
}

/* The derivative where the activation has the value y. */
INLINE real steepness(real number, real y)
{
    switch (integer_of(number)) {
    case 1: return is_positive(y);
    case 2: return 1 - y * y;
    case 3: return y * (1 - y);
    case 4: return pick((y > zero) & (y < 1), real_of(0.2), zero);
    default: return real_of(1);
    }
}

#endif
