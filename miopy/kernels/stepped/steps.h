/* One layer in one direction, as a list of launches and products on a device or, behind the same
 * calls, on the host. What pointers point to is the device's, except batch_sizes and offsets.
 * Functions return 0, a positive error of `launch` or a negative one of `gemm`.
 *
 * N: sequences, T: packed rows, B: most rows of a step, G: gates, P: planes, V: saved planes, H:
 * hidden_size, S: state_size, the units of h: not H where what the cell puts out is projected, S':
 * initial_size, those of hx. */

/* c = a b, or c += a b: row i of c is c_row elements after the one before. Types are storage
 * numbers; c may be F32 where a and b are F16 or BF16. */
typedef struct {
    int type, c_type, accumulate;
    int64_t M, N, K;
    const void *a, *b;
    void *c;
    int64_t a_row, a_column, b_row, b_column, c_row;
} product;

/* How blocks run many steps in one launch, see kernels/persistent; all 0 where steps run one by
 * one. A block takes `rows` sequences, each of its warps `tiles_per_warp` tiles of its matrix. */
typedef struct {
    void *gather, *steps; /* kernels */
    void *fragments;      /* scratch: tiles of the matrix */
    int threads, rows, shared_nbytes, tiles_per_warp;
} persistent_layer;

/* How blocks that all run at a time share a layer's matrix; all 0 where they do not. The numbers
 * are those of `Grid` in core/grid.py and of kernels/persistent/launch.h. In clusters, those of
 * `parts` blocks run at a time. */
typedef struct {
    void *gather, *clear, *steps;    /* kernels; clusters have nothing to clear */
    void *slices, *words, *arrivals; /* scratch, as in kernels/step.h; clusters have slices alone */
    void *fault;                     /* a word that the host can read */
    int64_t slices_nbytes;
    unsigned int poll_limit;
    int in_clusters;
    int threads, shared_nbytes;
    int units, parts, copies, rows, row_tiles;
    int plane_width, depth_tiles, depth_per_warp, sum_slots, slots;
} grid_layer;

typedef struct {
    int storage, real, reverse, gates, planes, saved;
    int idle_keeps_state; /* what a sequence without a step leaves: its initial states, or zeros */
    int64_t steps, batch, input_size, hidden_size, state_size, initial_size;
    const int64_t *batch_sizes, *offsets; /* of each step, on the host */
    const int64_t *order;                 /* N, on the device; or NULL */
    const int64_t *uploaded;          /* offsets on the device, where one launch runs many steps */
    int64_t chunk_steps;              /* at most; as in step.h, */
    int together;                     /* of so many runs at a time; 0 where steps run one by one */
    int follows;                      /* a layer of a stack, whose input the run before makes */
    void *load_states, *store_states; /* kernels */
    const void *u;                    /* recurrent matrices (G, H out, S' in), as strided */
    int64_t u_out, u_in;
    int late;           /* the gate whose product is with an operand, in the layout; or -1 */
    void *operand;      /* kernel; NULL without a late gate */
    void *project;      /* kernel; NULL without a projection */
    const void *matrix; /* of the projection: (S out, H in), as strided */
    int64_t matrix_out, matrix_in;
    void *apply_mask;      /* kernel: of forward on states, of backward on products */
    const void *mask;      /* storage (N, S'), of what u multiplies; or NULL */
    const void *peepholes; /* storage (peepholes, H), where the cell has any */
    const void *attention; /* storage (T), where the cell takes it */
    int position[8];       /* of each plane in products and dgates */
    double scalars[5];     /* of the cell's math */
    persistent_layer persistent;
    grid_layer grid;
} stepped_layer;

typedef struct {
    stepped_layer layer;
    void *pointwise; /* kernel */
    const void *w;   /* input matrices (G, H out, I in), as strided; NULL: every gate gets x itself,
                        or its own H of them, x_gate apart */
    int64_t w_out, w_in;
    const void *input_bias[4], *recurrent_bias[4]; /* (H) of each gate of the cell; or NULL */
    const void *x, *hx, *cx; /* storage (T, I), (N, S'), (N, H); hx, cx may be NULL */
    int64_t x_row, x_gate, output_row, y_row;
    void *output, *y;    /* storage (T, S); y may be NULL */
    void *hy, *cy;       /* storage (N, S), (N, H); or NULL */
    void *cells, *saved; /* real (T, H), storage (T, V, H); or NULL */
    void *hidden; /* storage (T, H): what is projected, or the late gate's operand; or NULL */
    void *masked; /* storage (T, S'): what u multiplies, with a mask; or NULL */
    void *h, *c, *sorted;          /* scratch: real (N, S or S'), real (N, H), storage (N, S') */
    void *operand;                 /* scratch: storage (B, H), of a step where hidden is NULL */
    void *masked_step;             /* scratch: storage (B, S'), the same of masked */
    void *x_products, *h_products; /* scratch: real (chunk_rows, G, H), (B, G, H) */
    int64_t chunk_rows;            /* input products run ahead for so many rows at most */
    void *drop;                    /* kernel that makes x, */
    const void *drop_from, *drop_mask; /* storage (T, I), bytes; or NULL, where there is no dropout
                                          between this run and the one before */
    float drop_scale;
} stepped_forward;

/* Gates whose input planes are adjacent: of the input matrices, and among the planes. */
typedef struct {
    int gate, plane, count;
} input_run;

typedef struct {
    stepped_layer layer;
    void *pointwise;       /* kernel */
    const void *dy, *mask; /* storage (T, S), bytes (T, S) or NULL */
    double scale;
    const void *hx, *cx, *output, *cells, *saved, *hidden, *dhy, *dcy;
    int64_t dy_row, mask_row, output_row, dgates_row, dprojected_row;
    void *dhx, *dcx;
    void *dgates, *dprojected; /* storage (T, P, H); (T, S) with a projection */
    void *dh, *dc, *products;  /* scratch: real (N, S), (N, H), (B, S') */
    void *dhidden;             /* scratch: real (B, H), with a projection or a late gate */
    const void *w;             /* input matrices, where a run follows this one: they make its dy */
    int64_t w_out, w_in;
    input_run inputs[4]; /* those behind the last have a count of 0 */
} stepped_backward;

/* Threads for `elements` of a kernel that strides over what is left; nothing to do for 0. */
int launch_elements(const device_calls *calls, void *function, int64_t elements, void **arguments);
int multiply(const device_calls *calls, const product *p);
/* Runs of the same steps: a layer in one direction or in both, or layers of a stack in the order in
 * which a pass takes them, each of which follows the one before. */
int run_forward(const device_calls *calls, const stepped_forward *p, int runs);
int run_backward(const device_calls *calls, const stepped_backward *p, int runs);
