/* Trains a small LSTM through oneDNN's API of version 3 or 2, by gradient descent on one batch, and
 * writes what every pass writes as results; the first of them is an inference. Weights are kept in
 * one layout and reordered into those that the primitives ask for. Prints the loss of every step.
 * The engine is the CPU, so memory is the program's own. It is C and C++. */

#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#include "results.h"

enum { STEPS = 5, BATCH = 3, WIDTH = 8, LAYERS = 2, GATES = 4, EPOCHS = 20, FORGET_GATE = 1 };

static const float learning_rate = 2.0f;

enum tensor {
    SRC_LAYER,
    SRC_ITER,
    SRC_ITER_C,
    WEIGHTS_LAYER,
    WEIGHTS_ITER,
    BIAS,
    DST_LAYER,
    DST_ITER,
    DST_ITER_C,
    NUM_TENSORS
};

/* What each is, and where its gradient is in executions. */
static const struct {
    const char *name, *gradient_name;
    int arg, gradient_arg;
    dnnl_format_tag_t tag;
    int ndims;
    dnnl_dims_t dims;
} tensors[NUM_TENSORS] = {
    {"x", "dx", DNNL_ARG_SRC_LAYER, DNNL_ARG_DIFF_SRC_LAYER, dnnl_tnc, 3, {STEPS, BATCH, WIDTH}},
    {"hx",
     "dhx",
     DNNL_ARG_SRC_ITER,
     DNNL_ARG_DIFF_SRC_ITER,
     dnnl_ldnc,
     4,
     {LAYERS, 1, BATCH, WIDTH}},
    {"cx",
     "dcx",
     DNNL_ARG_SRC_ITER_C,
     DNNL_ARG_DIFF_SRC_ITER_C,
     dnnl_ldnc,
     4,
     {LAYERS, 1, BATCH, WIDTH}},
    {"w",
     "dw",
     DNNL_ARG_WEIGHTS_LAYER,
     DNNL_ARG_DIFF_WEIGHTS_LAYER,
     dnnl_ldigo,
     5,
     {LAYERS, 1, WIDTH, GATES, WIDTH}},
    {"r",
     "dr",
     DNNL_ARG_WEIGHTS_ITER,
     DNNL_ARG_DIFF_WEIGHTS_ITER,
     dnnl_ldigo,
     5,
     {LAYERS, 1, WIDTH, GATES, WIDTH}},
    {"b", "db", DNNL_ARG_BIAS, DNNL_ARG_DIFF_BIAS, dnnl_ldgo, 4, {LAYERS, 1, GATES, WIDTH}},
    {"y", "dy", DNNL_ARG_DST_LAYER, DNNL_ARG_DIFF_DST_LAYER, dnnl_tnc, 3, {STEPS, BATCH, WIDTH}},
    {"hy",
     "dhy",
     DNNL_ARG_DST_ITER,
     DNNL_ARG_DIFF_DST_ITER,
     dnnl_ldnc,
     4,
     {LAYERS, 1, BATCH, WIDTH}},
    {"cy",
     "dcy",
     DNNL_ARG_DST_ITER_C,
     DNNL_ARG_DIFF_DST_ITER_C,
     dnnl_ldnc,
     4,
     {LAYERS, 1, BATCH, WIDTH}},
};

/* A primitive, and the weights in the layouts that it asks for. */
struct pass {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_memory_t weights[NUM_TENSORS], gradients[NUM_TENSORS]; /* NULL but for the matrices */
};

struct network {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    float *data[NUM_TENSORS], *gradient[NUM_TENSORS];
    dnnl_memory_t memory[NUM_TENSORS], gradient_memory[NUM_TENSORS];
    dnnl_memory_t workspace;
    struct pass inference, forward, backward;
};

/* Descriptors of memory are objects in version 3, structs in version 2. */
#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t lent_desc_t;
#define DESC(desc) (desc)
#else
typedef const dnnl_memory_desc_t *lent_desc_t;
#define DESC(desc) (&(desc))
#endif

static int is_matrix(int tensor) { return tensor == WEIGHTS_LAYER || tensor == WEIGHTS_ITER; }

static size_t count_of(int tensor)
{
    size_t count = 1;
    for (int i = 0; i < tensors[tensor].ndims; i++)
        count *= (size_t)tensors[tensor].dims[i];
    return count;
}

static dnnl_memory_desc_t describe(int tensor, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t desc;
#if DNNL_VERSION_MAJOR >= 3
    MUST(dnnl_memory_desc_create_with_tag(&desc, tensors[tensor].ndims, tensors[tensor].dims,
                                          dnnl_f32, tag));
#else
    MUST(dnnl_memory_desc_init_by_tag(&desc, tensors[tensor].ndims, tensors[tensor].dims, dnnl_f32,
                                      tag));
#endif
    return desc;
}

static void forget(dnnl_memory_desc_t desc)
{
#if DNNL_VERSION_MAJOR >= 3
    MUST(dnnl_memory_desc_destroy(desc));
#else
    (void)desc;
#endif
}

static dnnl_memory_t remember(struct network *net, int tensor, float *data)
{
    dnnl_memory_t memory;
    dnnl_memory_desc_t desc = describe(tensor, tensors[tensor].tag);
    CHECK(dnnl_memory_desc_get_size(DESC(desc)) == count_of(tensor) * sizeof *data);
    MUST(dnnl_memory_create(&memory, DESC(desc), net->engine, data));
    forget(desc);
    return memory;
}

static void allocate_network(struct network *net)
{
    for (int tensor = 0; tensor < NUM_TENSORS; tensor++) {
        const size_t count = count_of(tensor);
        net->data[tensor] = host_floats(count, is_matrix(tensor) ? 0.3f : 0.5f);
        net->gradient[tensor] = (float *)calloc(count, sizeof(float));
        net->memory[tensor] = remember(net, tensor, net->data[tensor]);
        net->gradient_memory[tensor] = remember(net, tensor, net->gradient[tensor]);
    }
    /* As is usual, LSTM starts by remembering. */
    for (int layer = 0; layer < LAYERS; layer++)
        for (int unit = 0; unit < WIDTH; unit++)
            net->data[BIAS][(layer * GATES + FORGET_GATE) * WIDTH + unit] = 1;
}

/* Memory of the library's own, as a primitive wants it. */
static dnnl_memory_t ask(struct network *net, struct pass *pass, dnnl_query_t what, int index)
{
    dnnl_memory_t memory;
    lent_desc_t desc = dnnl_primitive_desc_query_md(pass->desc, what, index);
    CHECK(desc && dnnl_memory_desc_get_size(desc));
    MUST(dnnl_memory_create(&memory, desc, net->engine, DNNL_MEMORY_ALLOCATE));
    return memory;
}

static void finish_pass(struct network *net, struct pass *pass)
{
    MUST(dnnl_primitive_create(&pass->primitive, pass->desc));
    pass->weights[WEIGHTS_LAYER] = ask(net, pass, dnnl_query_weights_md, 0);
    pass->weights[WEIGHTS_ITER] = ask(net, pass, dnnl_query_weights_md, 1);
}

#if DNNL_VERSION_MAJOR >= 3
static void create_forward(struct network *net, struct pass *pass, dnnl_prop_kind_t prop_kind,
                           const dnnl_memory_desc_t *d)
{
    MUST(dnnl_lstm_forward_primitive_desc_create(
        &pass->desc, net->engine, prop_kind, dnnl_unidirectional_left2right, d[SRC_LAYER],
        d[SRC_ITER], d[SRC_ITER_C], d[WEIGHTS_LAYER], d[WEIGHTS_ITER], NULL, NULL, d[BIAS],
        d[DST_LAYER], d[DST_ITER], d[DST_ITER_C], dnnl_rnn_flags_undef, NULL));
}

static void create_backward(struct network *net, const dnnl_memory_desc_t *d)
{
    MUST(dnnl_lstm_backward_primitive_desc_create(
        &net->backward.desc, net->engine, dnnl_backward, dnnl_unidirectional_left2right,
        d[SRC_LAYER], d[SRC_ITER], d[SRC_ITER_C], d[WEIGHTS_LAYER], d[WEIGHTS_ITER], NULL, NULL,
        d[BIAS], d[DST_LAYER], d[DST_ITER], d[DST_ITER_C], d[SRC_LAYER], d[SRC_ITER], d[SRC_ITER_C],
        d[WEIGHTS_LAYER], d[WEIGHTS_ITER], NULL, NULL, d[BIAS], d[DST_LAYER], d[DST_ITER],
        d[DST_ITER_C], dnnl_rnn_flags_diff_weights_overwrite, net->forward.desc, NULL));
}
#else
static void create_forward(struct network *net, struct pass *pass, dnnl_prop_kind_t prop_kind,
                           const dnnl_memory_desc_t *d)
{
    dnnl_rnn_desc_t rnn;
    MUST(dnnl_lstm_forward_desc_init(&rnn, prop_kind, dnnl_unidirectional_left2right, &d[SRC_LAYER],
                                     &d[SRC_ITER], &d[SRC_ITER_C], &d[WEIGHTS_LAYER],
                                     &d[WEIGHTS_ITER], &d[BIAS], &d[DST_LAYER], &d[DST_ITER],
                                     &d[DST_ITER_C], dnnl_rnn_flags_undef));
    MUST(dnnl_primitive_desc_create(&pass->desc, &rnn, NULL, net->engine, NULL));
}

static void create_backward(struct network *net, const dnnl_memory_desc_t *d)
{
    dnnl_rnn_desc_t rnn;
    MUST(dnnl_lstm_backward_desc_init_v3(
        &rnn, dnnl_backward, dnnl_unidirectional_left2right, &d[SRC_LAYER], &d[SRC_ITER],
        &d[SRC_ITER_C], &d[WEIGHTS_LAYER], &d[WEIGHTS_ITER], NULL, NULL, &d[BIAS], &d[DST_LAYER],
        &d[DST_ITER], &d[DST_ITER_C], &d[SRC_LAYER], &d[SRC_ITER], &d[SRC_ITER_C],
        &d[WEIGHTS_LAYER], &d[WEIGHTS_ITER], NULL, NULL, &d[BIAS], &d[DST_LAYER], &d[DST_ITER],
        &d[DST_ITER_C], dnnl_rnn_flags_undef));
    MUST(dnnl_primitive_desc_create(&net->backward.desc, &rnn, NULL, net->engine,
                                    net->forward.desc));
}
#endif

static void prepare_passes(struct network *net)
{
    struct pass *backward = &net->backward;
    dnnl_memory_desc_t d[NUM_TENSORS];
    for (int tensor = 0; tensor < NUM_TENSORS; tensor++)
        d[tensor] = describe(tensor, is_matrix(tensor) ? dnnl_format_tag_any : tensors[tensor].tag);
    create_forward(net, &net->inference, dnnl_forward_inference, d);
    create_forward(net, &net->forward, dnnl_forward_training, d);
    create_backward(net, d);
    for (int tensor = 0; tensor < NUM_TENSORS; tensor++)
        forget(d[tensor]);
    finish_pass(net, &net->inference);
    finish_pass(net, &net->forward);
    finish_pass(net, backward);
    backward->gradients[WEIGHTS_LAYER] = ask(net, backward, dnnl_query_diff_weights_md, 0);
    backward->gradients[WEIGHTS_ITER] = ask(net, backward, dnnl_query_diff_weights_md, 1);
    net->workspace = ask(net, &net->forward, dnnl_query_workspace_md, 0);
}

static void reorder(struct network *net, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    lent_desc_t from_desc, to_desc;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    MUST(dnnl_memory_get_memory_desc(from, &from_desc));
    MUST(dnnl_memory_get_memory_desc(to, &to_desc));
    MUST(dnnl_reorder_primitive_desc_create(&desc, from_desc, net->engine, to_desc, net->engine,
                                            NULL));
    MUST(dnnl_primitive_create(&primitive, desc));
    MUST(dnnl_primitive_desc_destroy(desc));
    MUST(dnnl_primitive_execute(primitive, net->stream, 2, args));
    MUST(dnnl_primitive_destroy(primitive));
}

/* Version 2 adds to the gradients of parameters. */
static void clear(dnnl_memory_t memory)
{
    lent_desc_t desc;
    void *data;
    MUST(dnnl_memory_get_memory_desc(memory, &desc));
    MUST(dnnl_memory_map_data(memory, &data));
    memset(data, 0, dnnl_memory_desc_get_size(desc));
    MUST(dnnl_memory_unmap_data(memory, data));
}

static void execute(struct network *net, struct pass *pass)
{
    dnnl_exec_arg_t args[2 * NUM_TENSORS + 1];
    int nargs = 0;
    for (int tensor = 0; tensor < NUM_TENSORS; tensor++) {
        dnnl_memory_t own = pass->weights[tensor], gradient = pass->gradients[tensor];
        if (own)
            reorder(net, net->memory[tensor], own);
        args[nargs].arg = tensors[tensor].arg;
        args[nargs++].memory = own ? own : net->memory[tensor];
        args[nargs].arg = tensors[tensor].gradient_arg; /* not looked at in forward passes */
        args[nargs++].memory = gradient ? gradient : net->gradient_memory[tensor];
    }
    if (pass == &net->backward) {
        clear(pass->gradients[WEIGHTS_LAYER]);
        clear(pass->gradients[WEIGHTS_ITER]);
        clear(net->gradient_memory[BIAS]);
    }
    args[nargs].arg = DNNL_ARG_WORKSPACE;
    args[nargs++].memory = net->workspace;
    MUST(dnnl_primitive_execute(pass->primitive, net->stream, nargs, args));
    for (int tensor = 0; tensor < NUM_TENSORS; tensor++)
        if (pass->gradients[tensor])
            reorder(net, pass->gradients[tensor], net->gradient_memory[tensor]);
    MUST(dnnl_stream_wait(net->stream));
}

/* Mean square distance of y to the target; its gradient goes to dy. */
static double compare(struct network *net, const float *target)
{
    const size_t count = count_of(DST_LAYER);
    double loss = 0;
    for (size_t i = 0; i < count; i++) {
        const float distance = net->data[DST_LAYER][i] - target[i];
        net->gradient[DST_LAYER][i] = distance * (2.0f / (STEPS * BATCH * WIDTH));
        loss += (double)distance * (double)distance / (double)count;
    }
    return loss;
}

static void descend(struct network *net)
{
    for (int tensor = WEIGHTS_LAYER; tensor <= BIAS; tensor++)
        for (size_t i = 0; i < count_of(tensor); i++)
            net->data[tensor][i] -= learning_rate * net->gradient[tensor][i];
}

static void write_tensors(const struct network *net, int first, int last)
{
    for (int tensor = first; tensor <= last; tensor++)
        write_result(tensors[tensor].name, net->data[tensor], count_of(tensor) * sizeof(float));
}

static void write_gradients(const struct network *net, int first, int last)
{
    for (int tensor = first; tensor <= last; tensor++)
        write_result(tensors[tensor].gradient_name, net->gradient[tensor],
                     count_of(tensor) * sizeof(float));
}

static void destroy_pass(struct pass *pass)
{
    for (int tensor = 0; tensor < NUM_TENSORS; tensor++) {
        MUST(dnnl_memory_destroy(pass->weights[tensor])); /* NULL is none */
        MUST(dnnl_memory_destroy(pass->gradients[tensor]));
    }
    MUST(dnnl_primitive_desc_destroy(pass->desc));
    MUST(dnnl_primitive_destroy(pass->primitive));
}

static void destroy_network(struct network *net)
{
    destroy_pass(&net->inference);
    destroy_pass(&net->forward);
    destroy_pass(&net->backward);
    for (int tensor = 0; tensor < NUM_TENSORS; tensor++) {
        MUST(dnnl_memory_destroy(net->memory[tensor]));
        MUST(dnnl_memory_destroy(net->gradient_memory[tensor]));
        free(net->data[tensor]);
        free(net->gradient[tensor]);
    }
    MUST(dnnl_memory_destroy(net->workspace));
    MUST(dnnl_stream_destroy(net->stream));
    MUST(dnnl_engine_destroy(net->engine));
}

int main(int argc, char **argv)
{
    struct network net;
    float *target = host_floats(STEPS * BATCH * WIDTH, 0.5f);
    memset(&net, 0, sizeof net);
    open_results(argc, argv);
    MUST(dnnl_engine_create(&net.engine, dnnl_cpu, 0));
    MUST(dnnl_stream_create(&net.stream, net.engine, dnnl_stream_default_flags));
    allocate_network(&net);
    prepare_passes(&net);
    write_tensors(&net, SRC_LAYER, BIAS);
    execute(&net, &net.inference);
    write_tensors(&net, DST_LAYER, DST_ITER_C);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        execute(&net, &net.forward);
        printf("%.9f\n", compare(&net, target));
        write_tensors(&net, DST_LAYER, DST_ITER_C);
        write_gradients(&net, DST_LAYER, DST_LAYER);
        execute(&net, &net.backward);
        write_gradients(&net, SRC_LAYER, BIAS);
        descend(&net);
    }
    write_tensors(&net, WEIGHTS_LAYER, BIAS);
    destroy_network(&net);
    free(target);
    return exit_status();
}
