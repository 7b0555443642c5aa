/* Documented bad inputs of oneDNN's API and their statuses. */

#include <string.h>

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/miopy.h>

#include "results.h"

enum { BAD = dnnl_invalid_arguments, UNSUPPORTED = dnnl_unimplemented };
enum { STEPS = 3, BATCH = 2, INPUT = 4, HIDDEN = 5, ROOM = 1024 };
enum { ANY = dnnl_format_tag_any, LEFT2RIGHT = dnnl_unidirectional_left2right };

/* The descriptors of an LSTM, in the order of its arguments. */
enum tensor {
    SRC_LAYER,
    SRC_ITER,
    SRC_ITER_C,
    WEIGHTS_LAYER,
    WEIGHTS_ITER,
    PEEPHOLE,
    PROJECTION,
    BIAS,
    DST_LAYER,
    DST_ITER,
    DST_ITER_C,
    NUM_TENSORS
};

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static dnnl_memory_desc_t lstm[NUM_TENSORS];
static float data[NUM_TENSORS][ROOM];

/* As an object that a client makes from any address; no such address is ever followed. */
#define FORGED(type, value) ((type)(uintptr_t)(value))

static dnnl_memory_desc_t described(int tag, int ndims, dnnl_dim_t a, dnnl_dim_t b, dnnl_dim_t c,
                                    dnnl_dim_t d, dnnl_dim_t e)
{
    const dnnl_dims_t dims = {a, b, c, d, e};
    dnnl_memory_desc_t desc;
    MUST(dnnl_memory_desc_create_with_tag(&desc, ndims, dims, dnnl_f32, (dnnl_format_tag_t)tag));
    return desc;
}

static void describe_network(void)
{
    MUST(dnnl_engine_create(&engine, dnnl_cpu, 0));
    MUST(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    lstm[SRC_LAYER] = described(dnnl_tnc, 3, STEPS, BATCH, INPUT, 0, 0);
    lstm[SRC_ITER] = described(dnnl_ldnc, 4, 1, 1, BATCH, HIDDEN, 0);
    lstm[SRC_ITER_C] = described(dnnl_ldnc, 4, 1, 1, BATCH, HIDDEN, 0);
    lstm[WEIGHTS_LAYER] = described(dnnl_ldigo, 5, 1, 1, INPUT, 4, HIDDEN);
    lstm[WEIGHTS_ITER] = described(dnnl_ldigo, 5, 1, 1, HIDDEN, 4, HIDDEN);
    lstm[BIAS] = described(dnnl_ldgo, 4, 1, 1, 4, HIDDEN, 0);
    lstm[DST_LAYER] = described(dnnl_tnc, 3, STEPS, BATCH, HIDDEN, 0, 0);
    lstm[DST_ITER] = described(dnnl_ldnc, 4, 1, 1, BATCH, HIDDEN, 0);
    lstm[DST_ITER_C] = described(dnnl_ldnc, 4, 1, 1, BATCH, HIDDEN, 0);
}

static int create_forward(dnnl_primitive_desc_t *created, int prop_kind, int direction,
                          const dnnl_memory_desc_t *d)
{
    return (int)dnnl_lstm_forward_primitive_desc_create(
        created, engine, (dnnl_prop_kind_t)prop_kind, (dnnl_rnn_direction_t)direction, d[SRC_LAYER],
        d[SRC_ITER], d[SRC_ITER_C], d[WEIGHTS_LAYER], d[WEIGHTS_ITER], d[PEEPHOLE], d[PROJECTION],
        d[BIAS], d[DST_LAYER], d[DST_ITER], d[DST_ITER_C], 0, NULL);
}

static int create_backward(dnnl_primitive_desc_t *created, int prop_kind,
                           const dnnl_memory_desc_t *d, const dnnl_memory_desc_t *diff)
{
    return (int)dnnl_lstm_backward_primitive_desc_create(
        created, engine, (dnnl_prop_kind_t)prop_kind, dnnl_unidirectional_left2right, d[SRC_LAYER],
        d[SRC_ITER], d[SRC_ITER_C], d[WEIGHTS_LAYER], d[WEIGHTS_ITER], d[PEEPHOLE], d[PROJECTION],
        d[BIAS], d[DST_LAYER], d[DST_ITER], d[DST_ITER_C], diff[SRC_LAYER], diff[SRC_ITER],
        diff[SRC_ITER_C], diff[WEIGHTS_LAYER], diff[WEIGHTS_ITER], diff[PEEPHOLE], diff[PROJECTION],
        diff[BIAS], diff[DST_LAYER], diff[DST_ITER], diff[DST_ITER_C], 0, NULL, NULL);
}

/* The status of an LSTM with one descriptor replaced, which it destroys. */
static int with(int tensor, dnnl_memory_desc_t replacement)
{
    dnnl_primitive_desc_t created = NULL;
    dnnl_memory_desc_t d[NUM_TENSORS];
    memcpy(d, lstm, sizeof d);
    d[tensor] = replacement;
    const int status = create_forward(&created, dnnl_forward_training, LEFT2RIGHT, d);
    CHECK(!status == !!created);
    MUST(dnnl_primitive_desc_destroy(created));
    MUST(dnnl_memory_desc_destroy(replacement));
    return status;
}

static int with_prop_kind(int prop_kind)
{
    dnnl_primitive_desc_t created = NULL;
    const int status = create_forward(&created, prop_kind, LEFT2RIGHT, lstm);
    MUST(dnnl_primitive_desc_destroy(created));
    return status;
}

static int with_direction(int direction)
{
    dnnl_primitive_desc_t created = NULL;
    const int status = create_forward(&created, dnnl_forward_inference, direction, lstm);
    MUST(dnnl_primitive_desc_destroy(created));
    return status;
}

static void check_null(void)
{
    EXPECT(BAD, dnnl_engine_create(NULL, dnnl_cpu, 0));
    EXPECT(BAD, dnnl_stream_create(NULL, engine, dnnl_stream_default_flags));
    EXPECT(BAD, dnnl_memory_desc_create_with_tag(NULL, 0, NULL, dnnl_f32, dnnl_a));
    EXPECT(BAD, dnnl_memory_create(NULL, lstm[BIAS], engine, NULL));
    EXPECT(BAD, dnnl_primitive_attr_create(NULL));
    EXPECT(BAD, dnnl_primitive_create(NULL, NULL));
    EXPECT(BAD, create_forward(NULL, dnnl_forward_inference, LEFT2RIGHT, lstm));
    EXPECT(0, dnnl_engine_destroy(NULL));
    EXPECT(0, dnnl_stream_destroy(NULL));
    EXPECT(0, dnnl_memory_desc_destroy(NULL));
    EXPECT(0, dnnl_memory_destroy(NULL));
    EXPECT(0, dnnl_primitive_attr_destroy(NULL));
    EXPECT(0, dnnl_primitive_desc_destroy(NULL));
    EXPECT(0, dnnl_primitive_destroy(NULL));
}

static void check_objects(void)
{
    dnnl_engine_t second;
    dnnl_engine_kind_t kind = dnnl_gpu;
    MUST(dnnl_engine_create(&second, dnnl_cpu, 0));
    MUST(dnnl_engine_get_kind(second, &kind));
    CHECK(kind == dnnl_cpu);
    MUST(dnnl_engine_destroy(second));
    EXPECT(BAD, dnnl_engine_get_kind(second, &kind));
    EXPECT(BAD, dnnl_engine_destroy(second));
    EXPECT(BAD, dnnl_engine_get_kind(FORGED(dnnl_engine_t, 0x1234), &kind));
    EXPECT(BAD, dnnl_engine_get_kind(FORGED(dnnl_engine_t, stream), &kind));
    EXPECT(BAD, dnnl_engine_get_kind(NULL, &kind));
    EXPECT(BAD, dnnl_engine_get_kind(engine, NULL));
    CHECK(kind == dnnl_cpu);
    EXPECT(BAD, dnnl_stream_wait(FORGED(dnnl_stream_t, engine)));
    EXPECT(BAD, dnnl_stream_create(&stream, engine, 0x7ff8u));
    EXPECT(BAD, dnnl_engine_create(&second, dnnl_any_engine, 0));
    EXPECT(BAD, dnnl_engine_create(&second, dnnl_cpu, 1));
    EXPECT(BAD, dnnl_engine_create(&second, (dnnl_engine_kind_t)7, 0));
    CHECK(dnnl_engine_get_count(dnnl_cpu) == 1);
    CHECK(dnnl_engine_get_count((dnnl_engine_kind_t)7) == 0);
}

static int tagged(int ndims, const dnnl_dim_t *dims, int data_type, int tag)
{
    dnnl_memory_desc_t desc;
    return (int)dnnl_memory_desc_create_with_tag(&desc, ndims, dims, (dnnl_data_type_t)data_type,
                                                 (dnnl_format_tag_t)tag);
}

static void check_memory_descs(void)
{
    const dnnl_dims_t dims = {2, 3, 4}, negative = {2, -3, 4}, overlapping = {2, 4, 1};
    dnnl_memory_desc_t desc = lstm[SRC_LAYER];
    int64_t room[16] = {0};
    EXPECT(BAD, tagged(13, dims, dnnl_f32, dnnl_tnc));
    EXPECT(BAD, tagged(-1, dims, dnnl_f32, dnnl_tnc));
    EXPECT(BAD, tagged(3, NULL, dnnl_f32, dnnl_tnc));
    EXPECT(BAD, tagged(3, negative, dnnl_f32, dnnl_tnc));
    EXPECT(BAD, tagged(3, dims, dnnl_f32, dnnl_ldnc));
    EXPECT(BAD, tagged(3, dims, dnnl_f32, 9999));
    EXPECT(BAD, tagged(3, dims, dnnl_data_type_undef, dnnl_tnc));
    EXPECT(BAD, tagged(3, dims, 99, dnnl_tnc));
    EXPECT(BAD, dnnl_memory_desc_create_with_strides(&desc, 3, dims, dnnl_f32, overlapping));
    CHECK(desc == lstm[SRC_LAYER]);
    EXPECT(BAD, dnnl_memory_desc_query(desc, dnnl_query_ndims_s32, NULL));
    EXPECT(BAD, dnnl_memory_desc_query(desc, dnnl_query_engine, room));
    EXPECT(BAD, dnnl_memory_desc_query(desc, (dnnl_query_t)9999, room));
    EXPECT(BAD, dnnl_memory_desc_query(NULL, dnnl_query_ndims_s32, room));
    CHECK(!room[0]);
    EXPECT(BAD, dnnl_memory_desc_clone(&desc, FORGED(dnnl_memory_desc_t, engine)));
    CHECK(dnnl_memory_desc_get_size(NULL) == 0);
    CHECK(dnnl_memory_desc_get_size(FORGED(dnnl_memory_desc_t, 0x1234)) == 0);
    CHECK(dnnl_memory_desc_equal(desc, FORGED(dnnl_memory_desc_t, 0x1234)) == 0);
    CHECK(dnnl_memory_desc_equal(desc, desc) == 1);
}

static void check_memory(void)
{
    dnnl_memory_desc_t undecided = described(ANY, 3, STEPS, BATCH, INPUT, 0, 0);
    dnnl_memory_t memory = NULL;
    void *handle = NULL;
    EXPECT(BAD, dnnl_memory_create(&memory, undecided, engine, NULL));
    EXPECT(BAD, dnnl_memory_create(&memory, lstm[BIAS], NULL, NULL));
    EXPECT(BAD, dnnl_memory_create(&memory, NULL, engine, NULL));
    CHECK(!memory);
    EXPECT(BAD, dnnl_memory_get_data_handle(NULL, &handle));
    EXPECT(BAD, dnnl_memory_get_data_handle(FORGED(dnnl_memory_t, 0x1234), &handle));
    MUST(dnnl_memory_desc_destroy(undecided));
}

static void check_attributes(void)
{
    const float scales[2] = {1, 2};
    dnnl_primitive_attr_t attr;
    MUST(dnnl_primitive_attr_create(&attr));
    EXPECT(BAD, dnnl_primitive_attr_set_rnn_weights_qparams(attr, 0, 0, scales));
    EXPECT(BAD, dnnl_primitive_attr_set_rnn_weights_qparams(attr, -1, 0, scales));
    EXPECT(BAD, dnnl_primitive_attr_set_rnn_weights_qparams(attr, 1, -1, scales));
    EXPECT(BAD, dnnl_primitive_attr_set_rnn_weights_qparams(attr, 1, 0, NULL));
    EXPECT(BAD, dnnl_primitive_attr_set_rnn_weights_projection_qparams(attr, 0, 0, scales));
    EXPECT(BAD, dnnl_primitive_attr_set_scratchpad_mode(attr, (dnnl_scratchpad_mode_t)2));
    EXPECT(BAD, dnnl_primitive_attr_get_rnn_data_qparams(attr, NULL, NULL));
    EXPECT(BAD, dnnl_primitive_attr_set_rnn_data_qparams(NULL, 1, 0));
    MUST(dnnl_primitive_attr_destroy(attr));
}

static void check_rnns(void)
{
    static const int mandatory[] = {SRC_LAYER, WEIGHTS_LAYER, WEIGHTS_ITER, DST_LAYER};
    static const int paired[] = {SRC_ITER, SRC_ITER_C, DST_ITER, DST_ITER_C};
    for (size_t i = 0; i < 4; i++) {
        EXPECT(BAD, with(mandatory[i], NULL));
        EXPECT(BAD, with(paired[i], NULL));
    }
    EXPECT(0, with(BIAS, NULL)); /* as documented: oneDNN itself refuses it */
    EXPECT(BAD, with(SRC_LAYER, described(ANY, 3, STEPS, BATCH, INPUT + 1, 0, 0)));
    EXPECT(BAD, with(SRC_LAYER, described(ANY, 3, STEPS, BATCH + 1, INPUT, 0, 0)));
    EXPECT(BAD, with(SRC_LAYER, described(ANY, 2, STEPS, BATCH, 0, 0, 0)));
    EXPECT(BAD, with(SRC_ITER, described(ANY, 4, 1, 2, BATCH, HIDDEN, 0)));
    EXPECT(BAD, with(WEIGHTS_LAYER, described(ANY, 5, 1, 1, INPUT, 3, HIDDEN)));
    EXPECT(BAD, with(PEEPHOLE, described(ANY, 4, 1, 1, 4, HIDDEN, 0)));
    EXPECT(BAD, with(PROJECTION, described(ANY, 4, 1, 1, HIDDEN, 3, 0)));
    EXPECT(BAD, with(DST_LAYER, described(ANY, 3, STEPS, BATCH, 2 * HIDDEN, 0, 0)));
    EXPECT(UNSUPPORTED, with(WEIGHTS_LAYER, described(dnnl_abced, 5, 1, 1, INPUT, 4, HIDDEN)));
    EXPECT(UNSUPPORTED, with(BIAS, described(dnnl_abdc, 4, 1, 1, 4, HIDDEN, 0)));
    EXPECT(0, with(WEIGHTS_LAYER, described(ANY, 5, 1, 1, INPUT, 4, HIDDEN)));
    EXPECT(0, with(PEEPHOLE, described(ANY, 4, 1, 1, 3, HIDDEN, 0)));
    EXPECT(BAD, with_prop_kind(dnnl_prop_kind_undef));
    EXPECT(BAD, with_prop_kind(dnnl_backward));
    EXPECT(BAD, with_prop_kind(dnnl_backward_data));
    EXPECT(BAD, with_direction(dnnl_rnn_direction_undef));
    EXPECT(BAD, with_direction(5));
    EXPECT(BAD, with_direction(dnnl_bidirectional_concat)); /* of one direction's tensors */
}

static void check_backward(void)
{
    dnnl_primitive_desc_t created = NULL;
    dnnl_memory_desc_t d[NUM_TENSORS], missing[NUM_TENSORS];
    memcpy(d, lstm, sizeof d);
    d[WEIGHTS_LAYER] = described(ANY, 5, 1, 1, INPUT, 4, HIDDEN);
    d[WEIGHTS_ITER] = described(ANY, 5, 1, 1, HIDDEN, 4, HIDDEN);
    MUST(create_backward(&created, dnnl_backward, d, d));
    MUST(dnnl_primitive_desc_destroy(created));
    EXPECT(BAD, create_backward(&created, dnnl_forward_training, d, d));
    EXPECT(BAD, create_backward(&created, dnnl_backward_weights, d, d));
    for (int tensor = 0; tensor < NUM_TENSORS; tensor++) {
        memcpy(missing, d, sizeof missing);
        missing[tensor] = NULL;
        if (d[tensor])
            EXPECT(BAD, create_backward(&created, dnnl_backward, d, missing));
    }
    MUST(dnnl_memory_desc_destroy(d[WEIGHTS_LAYER]));
    MUST(dnnl_memory_desc_destroy(d[WEIGHTS_ITER]));
}

static void check_queries(dnnl_primitive_desc_t desc)
{
    int64_t room[16] = {0};
    EXPECT(BAD, dnnl_primitive_desc_query(desc, dnnl_query_num_of_inputs_s32, 0, NULL));
    EXPECT(BAD, dnnl_primitive_desc_query(NULL, dnnl_query_num_of_inputs_s32, 0, room));
    CHECK(dnnl_primitive_desc_query(desc, (dnnl_query_t)9999, 0, room) != dnnl_success);
    CHECK(!room[0]);
    CHECK(!dnnl_primitive_desc_query_md(desc, dnnl_query_engine, 0));
    CHECK(!dnnl_primitive_desc_query_md(NULL, dnnl_query_src_md, 0));
    CHECK(dnnl_primitive_desc_query_s32(desc, dnnl_query_engine, 0) == 0);
    CHECK(dnnl_primitive_desc_query_s32(NULL, dnnl_query_num_of_inputs_s32, 0) == 0);
    EXPECT(dnnl_last_impl_reached, dnnl_primitive_desc_next_impl(desc));
}

static void check_execution(void)
{
    static const int indices[NUM_TENSORS] = {
        DNNL_ARG_SRC_LAYER,          DNNL_ARG_SRC_ITER,     DNNL_ARG_SRC_ITER_C,
        DNNL_ARG_WEIGHTS_LAYER,      DNNL_ARG_WEIGHTS_ITER, DNNL_ARG_WEIGHTS_PEEPHOLE,
        DNNL_ARG_WEIGHTS_PROJECTION, DNNL_ARG_BIAS,         DNNL_ARG_DST_LAYER,
        DNNL_ARG_DST_ITER,           DNNL_ARG_DST_ITER_C};
    dnnl_exec_arg_t args[NUM_TENSORS], changed[NUM_TENSORS];
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t lstm_primitive;
    MUST(create_forward(&desc, dnnl_forward_inference, LEFT2RIGHT, lstm));
    check_queries(desc);
    MUST(dnnl_primitive_create(&lstm_primitive, desc));
    MUST(dnnl_primitive_desc_destroy(desc));
    EXPECT(BAD, dnnl_primitive_create(&lstm_primitive, desc));
    for (int tensor = 0; tensor < NUM_TENSORS; tensor++) {
        args[tensor].arg = indices[tensor];
        args[tensor].memory = NULL;
        if (lstm[tensor])
            MUST(dnnl_memory_create(&args[tensor].memory, lstm[tensor], engine, data[tensor]));
    }
    MUST(dnnl_primitive_execute(lstm_primitive, stream, NUM_TENSORS, args));
    for (int tensor = 0; tensor < NUM_TENSORS; tensor++) {
        memcpy(changed, args, sizeof changed);
        changed[tensor].arg = 12345;
        if (lstm[tensor])
            EXPECT(BAD, dnnl_primitive_execute(lstm_primitive, stream, NUM_TENSORS, changed));
    }
    EXPECT(BAD, dnnl_primitive_execute(lstm_primitive, stream, 0, NULL));
    EXPECT(BAD, dnnl_primitive_execute(lstm_primitive, stream, NUM_TENSORS, NULL));
    EXPECT(BAD, dnnl_primitive_execute(lstm_primitive, stream, -1, args));
    EXPECT(BAD, dnnl_primitive_execute(lstm_primitive, NULL, NUM_TENSORS, args));
    EXPECT(BAD, dnnl_primitive_execute(NULL, stream, NUM_TENSORS, args));
    MUST(dnnl_memory_destroy(args[DST_LAYER].memory));
    EXPECT(BAD, dnnl_primitive_execute(lstm_primitive, stream, NUM_TENSORS, args));
    MUST(dnnl_primitive_destroy(lstm_primitive));
    EXPECT(BAD, dnnl_primitive_execute(lstm_primitive, stream, NUM_TENSORS, args));
}

int main(void)
{
    CHECK(!*miopyGetLastError());
    describe_network();
    check_null();
    check_objects();
    check_memory_descs();
    check_memory();
    check_attributes();
    check_rnns();
    check_backward();
    check_execution();
    CHECK(strstr(miopyGetLastError(), "dnnl_primitive_execute: `primitive`"));
    CHECK(!strcmp(dnnl_status2str(dnnl_invalid_arguments), "invalid_arguments"));
    CHECK(!strcmp(dnnl_status2str((dnnl_status_t)99), "unknown status"));
    return exit_status();
}
