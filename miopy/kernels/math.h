/* math.h: what the cells need, one `real` at a time.
 *
 * NaN stays NaN, infinities saturate, relu is never -0; float: tanh(-0) is +0. All as on the host,
 * where host/vec.h does the same for vectors. */
#ifndef MIOPY_MATH_H
#define MIOPY_MATH_H

#include "storage.h"

#define zero ((real)0)
#define real_of(x) ((real)(x))
#define integer_of(x) ((int)(x)) /* of what is the same everywhere */
#define pick(condition, a, b) ((condition) ? (a) : (b))

/* 1 where x > 0, else 0. */
INLINE real is_positive(real x) { return x > 0; }
INLINE real relu(real x) { return x <= 0 ? 0 : x; }

#if STORAGE == F64
INLINE real sigmoid(real x) { return 1 / (1 + exp(-x)); }
INLINE real hyperbolic_tangent(real x) { return tanh(x); }
#else
INLINE real sigmoid(real x) { return 1 / (1 + expf(-x)); }
INLINE real hyperbolic_tangent(real x) { return tanhf(x) + 0; }
#endif

#endif
