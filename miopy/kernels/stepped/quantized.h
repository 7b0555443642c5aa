/* One layer in one direction on 8-bit codes; letters and scales as in ../quantized.h. The gates are
 * the cell's own, in its order; weights are codes (outputs, inputs). What pointers point to is the
 * device's. */
typedef struct {
    int reverse, gates;
    int64_t steps, chunk_steps, input_size, state_size;
    void *multiply, *cell;
    void *make_operand; /* of the last gate, if its product is late; else NULL */
    void *project;      /* NULL without a projection */
    const void *x;      /* codes: of step t and sequence b at t * x_step + b * x_row */
    int64_t x_step, x_row;
    const void *initial;                          /* codes (N, S) */
    void *output;                                 /* codes (steps, N, S) */
    const int8_t *w, *u, *matrix;                 /* (G, H, I), (G, H, S), (S, H) */
    int32_t *x_products, *h_products, *projected; /* scratch: (chunk_steps, N, G, H), (N, G, H),
                                                     (N, S) with a projection */
    void *operand;                   /* scratch: codes (N, H), with a late gate or a projection */
    quantized_step step;             /* all but `to`, `h` and products */
    quantized_projection projection; /* all but `to` */
} quantized_run;

/* 0, or an error of `launch`. */
int run_quantized(const device_calls *calls, const quantized_run *p);
