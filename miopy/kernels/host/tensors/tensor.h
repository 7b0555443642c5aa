/* Element-wise operations on strided tensors of 1 to 5 dimensions, strides in elements. Types are
 * the numbers of target.h; `alpha` and `beta` are, or point to, one value of that type. */
#include "../pool/pool.h"
#include <stdint.h>

/* y = alpha */
void set_tensor(int type, int dims, const int64_t *lengths, void *y, const int64_t *y_strides,
                const void *alpha);

/* y = alpha * y */
void scale_tensor(int type, int dims, const int64_t *lengths, void *y, const int64_t *y_strides,
                  const void *alpha);

/* y = alpha * x + beta * y; beta = 0 does not read y. y may be x. */
typedef struct {
    int type, dims;
    int64_t lengths[5], y_strides[5], x_strides[5];
    void *y;
    const void *x;
    char alpha[8], beta[8];
} transform_call;
void transform_tensor(pool *p, const transform_call *call);

/* c = op(alpha1 * a, alpha2 * b) + beta * c, op 0 add, 1 multiply, 2 minimum, 3 maximum; floating
 * types only. beta = 0 does not read c. c may be a or b. b repeats where its stride is 0. */
typedef struct {
    int type, op, dims;
    float alpha1, alpha2, beta;
    int64_t lengths[5], c_strides[5], a_strides[5], b_strides[5];
    void *c;
    const void *a, *b;
} combine_call;
void combine_tensors(pool *p, const combine_call *call);

/* y = x as another type: one of F32, F16, BF16, I8 and U8 each. If `scales` is not NULL, x is
 * multiplied by them and `shift` added before; they repeat where their stride is 0. */
typedef struct {
    int y_type, x_type, dims;
    float shift;
    int64_t lengths[5], y_strides[5], x_strides[5], scale_strides[5];
    void *y;
    const void *x;
    const float *scales;
} convert_call;
void convert(const convert_call *call);
