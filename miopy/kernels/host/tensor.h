/* Element-wise operations on strided tensors of 1 to 5 dimensions, strides in elements. Types are
 * the numbers of target.h; `alpha` and `beta` point to one value of that type. */
#include <stdint.h>

/* y = alpha */
void set_tensor(int type, int dims, const int64_t *lengths, void *y, const int64_t *y_strides,
                const void *alpha);

/* y = alpha * y */
void scale_tensor(int type, int dims, const int64_t *lengths, void *y, const int64_t *y_strides,
                  const void *alpha);

/* y = alpha * x + beta * y; beta = 0 does not read y. y may be x. */
void transform_tensor(int type, int dims, const int64_t *lengths, void *y, const int64_t *y_strides,
                      const void *x, const int64_t *x_strides, const void *alpha, const void *beta);

/* c = op(alpha1 * a, alpha2 * b) + beta * c, op 0 add, 1 multiply, 2 minimum, 3 maximum; floating
 * types only. beta = 0 does not read c. c may be a or b. b repeats where its stride is 0. */
void op_tensor(int type, int op, int dims, const int64_t *lengths, void *c,
               const int64_t *c_strides, const void *a, const int64_t *a_strides, const void *b,
               const int64_t *b_strides, float alpha1, float alpha2, float beta);

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
