/* Every documented bad input of the passes: each is a good call with one argument changed. */

#include "client.h"

enum { STEPS = 2, BATCH = 3, INPUT = 4, HIDDEN = 5 };
enum { BAD = miopenStatusBadParm, UNKNOWN = miopenStatusUnknownError };

/* The arguments of all passes, of both kinds of functions. */
struct call {
    miopenHandle_t handle;
    miopenRNNDescriptor_t rnn;
    int steps;
    miopenTensorDescriptor_t x_desc[STEPS], y_desc[STEPS], hx_desc, cx_desc, hy_desc, w_desc;
    miopenSeqTensorDescriptor_t x_seq, y_seq;
    miopenRNNFWDMode_t mode;
    void *x, *y, *hx, *w, *work, *reserve;
    size_t w_nbytes, work_nbytes, reserve_nbytes;
};

static int forward_training(const struct call *c)
{
    return (int)miopenRNNForwardTraining(c->handle, c->rnn, c->steps, c->x_desc, c->x, c->hx_desc,
                                         c->hx, c->cx_desc, NULL, c->w_desc, c->w, c->y_desc, c->y,
                                         c->hy_desc, NULL, c->hx_desc, NULL, c->work,
                                         c->work_nbytes, c->reserve, c->reserve_nbytes);
}

static int forward_inference(const struct call *c)
{
    return (int)miopenRNNForwardInference(c->handle, c->rnn, c->steps, c->x_desc, c->x, c->hx_desc,
                                          c->hx, c->cx_desc, NULL, c->w_desc, c->w, c->y_desc, c->y,
                                          c->hy_desc, NULL, c->hx_desc, NULL, c->work,
                                          c->work_nbytes);
}

/* x and y stand for dx and dy. */
static int backward_data(const struct call *c)
{
    return (int)miopenRNNBackwardData(
        c->handle, c->rnn, c->steps, c->y_desc, NULL, c->y_desc, c->y, c->hy_desc, NULL, c->hx_desc,
        NULL, c->w_desc, c->w, c->hx_desc, c->hx, c->cx_desc, NULL, c->x_desc, c->x, c->hx_desc,
        NULL, c->hx_desc, NULL, c->work, c->work_nbytes, c->reserve, c->reserve_nbytes);
}

/* w stands for dw. */
static int backward_weights(const struct call *c)
{
    return (int)miopenRNNBackwardWeights(c->handle, c->rnn, c->steps, c->x_desc, c->x, c->hx_desc,
                                         c->hx, c->y_desc, c->y, c->w_desc, c->w, c->work,
                                         c->work_nbytes, c->reserve, c->reserve_nbytes);
}

static int seq_forward(const struct call *c)
{
    return (int)miopenRNNForward(c->handle, c->rnn, c->mode, c->x_seq, c->x, c->hx_desc, c->hx,
                                 NULL, c->cx_desc, NULL, NULL, c->y_seq, c->y, c->w, c->w_nbytes,
                                 c->work, c->work_nbytes, c->reserve, c->reserve_nbytes);
}

static int seq_backward_data(const struct call *c)
{
    return (int)miopenRNNBackwardSeqData(c->handle, c->rnn, c->y_seq, NULL, c->y, c->hx_desc, c->hx,
                                         NULL, NULL, c->cx_desc, NULL, NULL, NULL, c->x_seq, c->x,
                                         c->w, c->w_nbytes, c->work, c->work_nbytes, c->reserve,
                                         c->reserve_nbytes);
}

static int seq_backward_weights(const struct call *c)
{
    return (int)miopenRNNBackwardWeightsSeqTensor(c->handle, c->rnn, c->x_seq, c->x, c->hx_desc,
                                                  c->hx, c->y_seq, c->y, c->w, c->w_nbytes, c->work,
                                                  c->work_nbytes, c->reserve, c->reserve_nbytes);
}

/* The status of a pass with one member of the call changed. */
#define CHANGED(status, pass, member, value) \
    do {                                     \
        struct call changed = call;          \
        changed.member = value;              \
        EXPECT(status, pass(&changed));      \
    } while (0)

/* What every pass refuses alike. */
#define CHECK_PASS(pass)                                                     \
    do {                                                                     \
        EXPECT(0, pass(&call));                                              \
        CHANGED(BAD, pass, handle, NULL);                                    \
        CHANGED(BAD, pass, rnn, NULL);                                       \
        CHANGED(BAD, pass, rnn, (miopenRNNDescriptor_t)(void *)call.handle); \
        CHANGED(BAD, pass, x, NULL);                                         \
        CHANGED(BAD, pass, w, NULL);                                         \
        CHANGED(UNKNOWN, pass, work_nbytes, call.work_nbytes - 1);           \
    } while (0)

/* Queries do not mind them; a pass does, but too small a buffer more, as in MIOpen. */
static void check_growing_batches(int (*pass)(const struct call *), struct call call)
{
    call.x_desc[0] = describe(BATCH - 1, INPUT, 0);
    call.y_desc[0] = describe(BATCH - 1, HIDDEN, 0);
    MUST(miopenGetRNNWorkspaceSize(call.handle, call.rnn, STEPS, call.x_desc, &call.work_nbytes));
    EXPECT(BAD, pass(&call));
    call.work_nbytes--;
    EXPECT(UNKNOWN, pass(&call));
    MUST(miopenDestroyTensorDescriptor(call.x_desc[0]));
    MUST(miopenDestroyTensorDescriptor(call.y_desc[0]));
}

/* What every pass over arrays of descriptors refuses alike. */
#define CHECK_ARRAY_PASS(pass)                         \
    do {                                               \
        CHECK_PASS(pass);                              \
        CHANGED(BAD, pass, steps, 0);                  \
        CHANGED(BAD, pass, steps, -1);                 \
        CHANGED(BAD, pass, x_desc[1], NULL);           \
        CHANGED(BAD, pass, x_desc[0], wide);           \
        CHANGED(BAD, pass, y_desc[0], call.x_desc[0]); \
        check_growing_batches(pass, call);             \
    } while (0)

static miopenSeqTensorDescriptor_t describe_sequence(int size)
{
    const int lengths[BATCH] = {STEPS, STEPS, STEPS};
    miopenSeqTensorDescriptor_t desc;
    MUST(miopenCreateSeqTensorDescriptor(&desc));
    MUST(miopenSetRNNDataSeqTensorDescriptor(desc, miopenFloat, miopenRNNDataSeqMajorPadded, STEPS,
                                             BATCH, size, lengths, NULL));
    return desc;
}

static struct call good_call(void)
{
    struct call call = {.steps = STEPS, .mode = miopenRNNTraining};
    size_t array_work, seq_work, array_reserve, seq_reserve;
    MUST(miopenCreate(&call.handle));
    call.rnn = describe_rnn(HIDDEN, 1, miopenLSTM, miopenRNNunidirection, NULL);
    call.x_desc[0] = call.x_desc[1] = describe(BATCH, INPUT, 0);
    call.y_desc[0] = call.y_desc[1] = describe(BATCH, HIDDEN, 0);
    call.hx_desc = call.cx_desc = call.hy_desc = describe(1, BATCH, HIDDEN);
    call.x_seq = describe_sequence(INPUT);
    call.y_seq = describe_sequence(HIDDEN);
    MUST(miopenGetRNNWorkspaceSize(call.handle, call.rnn, STEPS, call.x_desc, &array_work));
    MUST(
        miopenGetRNNTrainingReserveSize(call.handle, call.rnn, STEPS, call.x_desc, &array_reserve));
    MUST(miopenGetRNNTempSpaceSizes(call.handle, call.rnn, call.x_seq, miopenRNNTraining, &seq_work,
                                    &seq_reserve));
    CHECK(seq_reserve >= array_reserve);
    MUST(
        miopenGetRNNParamsSize(call.handle, call.rnn, call.x_desc[0], &call.w_nbytes, miopenFloat));
    call.w_desc = describe((int)(call.w_nbytes / sizeof(float)), 0, 0);
    call.work_nbytes = array_work;
    call.reserve_nbytes = array_reserve;
    call.x = device_floats(STEPS * BATCH * INPUT, 1);
    call.y = device_floats(STEPS * BATCH * HIDDEN, 1);
    call.hx = device_floats(BATCH * HIDDEN, 1);
    call.w = device_floats(call.w_nbytes / sizeof(float), 1);
    call.work = device_zeros(seq_work > array_work ? seq_work : array_work);
    call.reserve = device_zeros(seq_reserve);
    return call;
}

static void check_array_passes(struct call call)
{
    const int dims[] = {1, BATCH, HIDDEN};
    miopenTensorDescriptor_t wide = describe(BATCH, INPUT + 1, 0), flat = describe(BATCH, 1, 0);
    miopenTensorDescriptor_t brain = describe(1, BATCH, HIDDEN);
    MUST(miopenSetTensorDescriptor(brain, miopenBFloat16, 3, dims, NULL));
    CHECK_ARRAY_PASS(forward_training);
    CHANGED(BAD, forward_training, y, NULL);
    CHANGED(BAD, forward_training, cx_desc, flat);
    CHANGED(BAD, forward_training, hy_desc, flat);
    CHANGED(miopenStatusNotImplemented, forward_training, w_desc, brain);
    CHANGED(miopenStatusNotImplemented, forward_training, hy_desc, brain);
    CHANGED(UNKNOWN, forward_training, reserve_nbytes, call.reserve_nbytes - 1);

    CHECK_ARRAY_PASS(forward_inference);
    CHANGED(BAD, forward_inference, y, NULL);
    CHANGED(BAD, forward_inference, hy_desc, flat);

    EXPECT(0, forward_training(&call));
    CHECK_ARRAY_PASS(backward_data);
    CHANGED(BAD, backward_data, y, NULL);
    CHANGED(miopenStatusNotImplemented, backward_data, w_desc, brain);
    CHANGED(miopenStatusNotImplemented, backward_data, cx_desc, brain);
    CHANGED(UNKNOWN, backward_data, reserve_nbytes, call.reserve_nbytes - 1);

    CHECK_ARRAY_PASS(backward_weights);
    CHANGED(miopenStatusNotImplemented, backward_weights, hx_desc, brain);
    CHANGED(UNKNOWN, backward_weights, reserve_nbytes, call.reserve_nbytes - 1);
    MUST(miopenDestroyTensorDescriptor(wide));
    MUST(miopenDestroyTensorDescriptor(flat));
    MUST(miopenDestroyTensorDescriptor(brain));
}

static void check_sequence_passes(struct call call)
{
    miopenTensorDescriptor_t flat = describe(BATCH, 1, 0), narrow = describe(1, 1, HIDDEN);
    MUST(miopenGetRNNTempSpaceSizes(call.handle, call.rnn, call.x_seq, miopenRNNTraining,
                                    &call.work_nbytes, &call.reserve_nbytes));
    CHECK_PASS(seq_forward);
    CHANGED(BAD, seq_forward, y, NULL);
    CHANGED(BAD, seq_forward, x_seq, NULL);
    CHANGED(BAD, seq_forward, cx_desc, flat);
    CHANGED(BAD, seq_forward, mode, (miopenRNNFWDMode_t)2);
    CHANGED(UNKNOWN, seq_forward, w_nbytes, call.w_nbytes - 1);
    CHANGED(UNKNOWN, seq_forward, reserve_nbytes, call.reserve_nbytes - 1);
    CHANGED(miopenStatusInternalError, seq_forward, hx_desc, narrow);

    EXPECT(0, seq_forward(&call));
    CHECK_PASS(seq_backward_data);
    CHANGED(BAD, seq_backward_data, y, NULL);
    CHANGED(BAD, seq_backward_data, cx_desc, flat);
    CHANGED(UNKNOWN, seq_backward_data, w_nbytes, call.w_nbytes - 1);
    CHANGED(UNKNOWN, seq_backward_data, reserve_nbytes, call.reserve_nbytes - 1);

    CHECK_PASS(seq_backward_weights);
    CHANGED(UNKNOWN, seq_backward_weights, w_nbytes, call.w_nbytes - 1);
    CHANGED(UNKNOWN, seq_backward_weights, reserve_nbytes, call.reserve_nbytes - 1);
    MUST(miopenDestroyTensorDescriptor(flat));
    MUST(miopenDestroyTensorDescriptor(narrow));
}

int main(void)
{
    struct call call = good_call();
    check_array_passes(call);
    check_sequence_passes(call);
    EXPECT(miopenStatusNotImplemented, miopenCreateConvolutionDescriptor(NULL));
    return exit_status();
}
