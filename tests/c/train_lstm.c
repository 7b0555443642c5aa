/* Trains a small LSTM by gradient descent on one batch of sequences of different lengths, and dumps
 * everything that every pass writes. Prints the loss of every step. */

#include "client.h"

enum { STEPS = 5, BATCH = 3, INPUT = 4, HIDDEN = 8, LAYERS = 2, EPOCHS = 20, ROWS = 11 };

static const int batch_sizes[STEPS] = {3, 3, 2, 2, 1}; /* ROWS together */
static const float learning_rate = 0.5f;

enum buffer { X, Y, HX, CX, HY, CY, W, DX, DY, DHX, DCX, DW, WORKSPACE, RESERVE, NUM_BUFFERS };

static const char *const names[] = {"x", "y",  "hx", "cx",  "hy",  "cy",
                                    "w", "dx", "dy", "dhx", "dcx", "dw"};

static const enum buffer outputs[] = {Y, HY, CY, DY, DX, DHX, DCX, DW};

struct network {
    miopenHandle_t handle;
    miopenRNNDescriptor_t rnn;
    miopenTensorDescriptor_t x_descs[STEPS], y_descs[STEPS], h_desc, w_desc;
    void *data[NUM_BUFFERS];
    size_t nbytes[NUM_BUFFERS];
};

static void zeros(struct network *net, enum buffer buffer, size_t nbytes)
{
    net->data[buffer] = device_zeros(nbytes);
    net->nbytes[buffer] = nbytes;
}

static void numbers(struct network *net, enum buffer buffer, size_t count, float scale)
{
    net->data[buffer] = device_floats(count, scale);
    net->nbytes[buffer] = count * sizeof(float);
}

static void describe_network(struct network *net)
{
    MUST(miopenCreate(&net->handle));
    net->rnn = describe_rnn(HIDDEN, LAYERS, miopenLSTM, miopenRNNunidirection, NULL);
    for (int step = 0; step < STEPS; step++) {
        net->x_descs[step] = describe(batch_sizes[step], INPUT, 0);
        net->y_descs[step] = describe(batch_sizes[step], HIDDEN, 0);
    }
    net->h_desc = describe(LAYERS, BATCH, HIDDEN);
    MUST(miopenCreateTensorDescriptor(&net->w_desc));
    MUST(miopenGetRNNParamsDescriptor(net->handle, net->rnn, net->x_descs[0], net->w_desc,
                                      miopenFloat));
}

static void allocate_network(struct network *net)
{
    const size_t state = LAYERS * BATCH * HIDDEN;
    size_t nbytes;
    MUST(miopenGetRNNWorkspaceSize(net->handle, net->rnn, STEPS, net->x_descs, &nbytes));
    zeros(net, WORKSPACE, nbytes);
    MUST(miopenGetRNNTrainingReserveSize(net->handle, net->rnn, STEPS, net->x_descs, &nbytes));
    zeros(net, RESERVE, nbytes);
    MUST(miopenGetRNNParamsSize(net->handle, net->rnn, net->x_descs[0], &nbytes, miopenFloat));
    numbers(net, W, nbytes / sizeof(float), 0.3f);
    zeros(net, DW, nbytes);
    MUST(miopenGetRNNInputTensorSize(net->handle, net->rnn, STEPS, net->x_descs, &nbytes));
    CHECK(nbytes == ROWS * INPUT * sizeof(float));
    numbers(net, X, ROWS * INPUT, 1);
    zeros(net, DX, net->nbytes[X]);
    zeros(net, Y, ROWS * HIDDEN * sizeof(float));
    zeros(net, DY, net->nbytes[Y]);
    numbers(net, HX, state, 0.5f);
    numbers(net, CX, state, 0.5f);
    zeros(net, HY, net->nbytes[HX]);
    zeros(net, CY, net->nbytes[HX]);
    zeros(net, DHX, net->nbytes[HX]);
    zeros(net, DCX, net->nbytes[HX]);
}

static void forward(struct network *net)
{
    MUST(miopenRNNForwardTraining(
        net->handle, net->rnn, STEPS, net->x_descs, net->data[X], net->h_desc, net->data[HX],
        net->h_desc, net->data[CX], net->w_desc, net->data[W], net->y_descs, net->data[Y],
        net->h_desc, net->data[HY], net->h_desc, net->data[CY], net->data[WORKSPACE],
        net->nbytes[WORKSPACE], net->data[RESERVE], net->nbytes[RESERVE]));
}

static void backward(struct network *net)
{
    MUST(miopenRNNBackwardData(net->handle, net->rnn, STEPS, net->y_descs, net->data[Y],
                               net->y_descs, net->data[DY], net->h_desc, NULL, net->h_desc, NULL,
                               net->w_desc, net->data[W], net->h_desc, net->data[HX], net->h_desc,
                               net->data[CX], net->x_descs, net->data[DX], net->h_desc,
                               net->data[DHX], net->h_desc, net->data[DCX], net->data[WORKSPACE],
                               net->nbytes[WORKSPACE], net->data[RESERVE], net->nbytes[RESERVE]));
    MUST(hipMemset(net->data[DW], 0, net->nbytes[DW]));
    MUST(miopenRNNBackwardWeights(
        net->handle, net->rnn, STEPS, net->x_descs, net->data[X], net->h_desc, net->data[HX],
        net->y_descs, net->data[Y], net->w_desc, net->data[DW], net->data[WORKSPACE],
        net->nbytes[WORKSPACE], net->data[RESERVE], net->nbytes[RESERVE]));
}

/* Mean square distance of y to the target; its gradient goes to dy. */
static double compare(struct network *net, const float *target)
{
    const size_t count = ROWS * HIDDEN;
    float y[ROWS * HIDDEN], dy[ROWS * HIDDEN];
    double loss = 0;
    MUST(hipMemcpy(y, net->data[Y], sizeof y, hipMemcpyDeviceToHost));
    for (size_t i = 0; i < count; i++) {
        dy[i] = (y[i] - target[i]) * (2.0f / (float)count);
        loss += (double)(y[i] - target[i]) * (double)(y[i] - target[i]) / (double)count;
    }
    MUST(hipMemcpy(net->data[DY], dy, sizeof dy, hipMemcpyHostToDevice));
    return loss;
}

static void descend(struct network *net)
{
    const size_t count = net->nbytes[W] / sizeof(float);
    float *w = malloc(net->nbytes[W]), *dw = malloc(net->nbytes[W]);
    MUST(hipMemcpy(w, net->data[W], net->nbytes[W], hipMemcpyDeviceToHost));
    MUST(hipMemcpy(dw, net->data[DW], net->nbytes[W], hipMemcpyDeviceToHost));
    for (size_t i = 0; i < count; i++)
        w[i] -= learning_rate * dw[i];
    MUST(hipMemcpy(net->data[W], w, net->nbytes[W], hipMemcpyHostToDevice));
    free(w);
    free(dw);
}

static void dump_buffer(const struct network *net, enum buffer buffer)
{
    dump(names[buffer], net->data[buffer], net->nbytes[buffer]);
}

static void destroy_network(struct network *net)
{
    for (int buffer = 0; buffer < NUM_BUFFERS; buffer++)
        MUST(hipFree(net->data[buffer]));
    for (int step = 0; step < STEPS; step++) {
        MUST(miopenDestroyTensorDescriptor(net->x_descs[step]));
        MUST(miopenDestroyTensorDescriptor(net->y_descs[step]));
    }
    MUST(miopenDestroyTensorDescriptor(net->h_desc));
    MUST(miopenDestroyTensorDescriptor(net->w_desc));
    MUST(miopenDestroyRNNDescriptor(net->rnn));
    MUST(miopenDestroy(net->handle));
}

int main(int argc, char **argv)
{
    struct network net;
    float *target = host_floats(ROWS * HIDDEN, 0.5f);
    open_results(argc, argv);
    describe_network(&net);
    allocate_network(&net);
    dump_buffer(&net, X);
    dump_buffer(&net, HX);
    dump_buffer(&net, CX);
    dump_buffer(&net, W);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        forward(&net);
        printf("%.9f\n", compare(&net, target));
        backward(&net);
        for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
            dump_buffer(&net, outputs[i]);
        descend(&net);
    }
    dump_buffer(&net, W);
    destroy_network(&net);
    free(target);
    return exit_status();
}
