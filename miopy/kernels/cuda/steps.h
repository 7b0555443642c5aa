/* One layer in one direction on a device, as a list of launches and products; what all pointers
 * point to is on the device, except batch_sizes and offsets. Functions return 0, a positive error
 * of `launch` or a negative one of `gemm`.
 *
 * N: sequences, T: packed rows, G: gates, H: hidden_size, V: saved planes, P: planes. */

/* c = a b, or c += a b: row i of c is c_row elements after the one before. Types are storage
 * numbers; c may be F32 where a and b are F16 or BF16. */
typedef struct {
    int type, c_type, accumulate;
    int64_t M, N, K;
    const void *a, *b;
    void *c;
    int64_t a_row, a_column, b_row, b_column, c_row;
} product;

typedef struct {
    int storage, real, reverse, gates, planes, saved;
    int64_t steps, batch, input_size, hidden_size;
    const int64_t *batch_sizes, *offsets; /* of each step, on the host */
    const int64_t *order;                 /* N, on the device; or NULL */
    void *load_states, *store_states;     /* kernels */
    const void *u;                        /* recurrent matrices (G, H out, H in), as strided */
    int64_t u_out, u_in;
} stepped_layer;

typedef struct {
    stepped_layer layer;
    void *pointwise;
    const void *w; /* input matrices (G, H out, I in), as strided; NULL: every gate gets x itself */
    int64_t w_out, w_in;
    const void *input_bias, *recurrent_bias; /* G rows of H, bias_gate apart; or NULL */
    int64_t bias_gate;
    const void *x, *hx, *cx; /* storage (T, I), (N, H), (N, H); hx, cx may be NULL */
    int64_t x_row, output_row, y_row;
    void *output, *y, *hy, *cy;    /* storage (T, H), (T, H), (N, H), (N, H); all but the
                                      first may be NULL */
    void *cells, *saved;           /* real (T, H), storage (T, V, H); or NULL */
    void *h, *c, *sorted;          /* scratch: real (N, H), real (N, H), storage (N, H) */
    void *x_products, *h_products; /* scratch: real (chunk_rows, G, H), (most rows, G, H) */
    int64_t chunk_rows;            /* input products run ahead for so many rows at most */
} stepped_forward;

typedef struct {
    stepped_layer layer;
    void *pointwise;
    const void *dy, *mask; /* storage (T, H), bytes (T, H) or NULL */
    double scale;
    const void *hx, *cx, *output, *cells, *saved, *dhy, *dcy;
    int64_t dy_row, mask_row, output_row, dgates_row;
    void *dhx, *dcx, *dgates;
    void *dh, *dc, *products; /* scratch: real (N, H), (N, H), (most rows, H) */
} stepped_backward;

/* Threads for `elements` of a kernel that strides over what is left; nothing to do for 0. */
int launch_elements(const device_calls *calls, void *function, int64_t elements, void **arguments);
int multiply(const device_calls *calls, const product *p);
int run_forward(const device_calls *calls, const stepped_forward *p);
int run_backward(const device_calls *calls, const stepped_backward *p);
