/* Trains a small LSTM through cuDNN's API of version 8, by gradient descent on one padded batch of
 * sequences of different lengths, and writes everything that every pass writes as results. Prints
 * the loss of every step. The backend is the host, so memory is the program's own. */

#include <string.h>

#include <cudnn.h>

#include "results.h"

enum { STEPS = 5, BATCH = 3, INPUT = 4, HIDDEN = 8, LAYERS = 2, EPOCHS = 20 };
enum { FORGET_GATE = 1, LIVE = 11 };

static const int lengths[BATCH] = {4, 5, 2}; /* LIVE together */
static const float learning_rate = 2.0f;

enum buffer { X, Y, HX, CX, HY, CY, W, DX, DY, DHX, DCX, DW, WORKSPACE, RESERVE, NUM_BUFFERS };

static const char *const names[] = {"x", "y",  "hx", "cx",  "hy",  "cy",
                                    "w", "dx", "dy", "dhx", "dcx", "dw"};

static const enum buffer outputs[] = {Y, HY, CY, DY, DX, DHX, DCX, DW};

struct network {
    cudnnHandle_t handle;
    cudnnRNNDescriptor_t rnn;
    cudnnRNNDataDescriptor_t x_desc, y_desc;
    cudnnTensorDescriptor_t state_desc;
    void *data[NUM_BUFFERS];
    size_t nbytes[NUM_BUFFERS];
};

static void zeros(struct network *net, enum buffer buffer, size_t nbytes)
{
    net->data[buffer] = calloc(nbytes ? nbytes : 1, 1);
    net->nbytes[buffer] = nbytes;
}

static void numbers(struct network *net, enum buffer buffer, size_t count, float scale)
{
    net->data[buffer] = host_floats(count, scale);
    net->nbytes[buffer] = count * sizeof(float);
}

static cudnnRNNDataDescriptor_t describe_sequences(int vector_size)
{
    cudnnRNNDataDescriptor_t desc;
    float padding = 0;
    MUST(cudnnCreateRNNDataDescriptor(&desc));
    MUST(cudnnSetRNNDataDescriptor(desc, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                   STEPS, BATCH, vector_size, lengths, &padding));
    return desc;
}

static void describe_network(struct network *net)
{
    const int dims[] = {LAYERS, BATCH, HIDDEN}, strides[] = {BATCH * HIDDEN, HIDDEN, 1};
    MUST(cudnnCreate(&net->handle));
    MUST(cudnnCreateRNNDescriptor(&net->rnn));
    MUST(cudnnSetRNNDescriptor_v8(net->rnn, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM,
                                  CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
                                  CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, INPUT,
                                  HIDDEN, HIDDEN, LAYERS, NULL, CUDNN_RNN_PADDED_IO_ENABLED));
    net->x_desc = describe_sequences(INPUT);
    net->y_desc = describe_sequences(HIDDEN);
    MUST(cudnnCreateTensorDescriptor(&net->state_desc));
    MUST(cudnnSetTensorNdDescriptor(net->state_desc, CUDNN_DATA_FLOAT, 3, dims, strides));
}

static void allocate_network(struct network *net)
{
    const size_t state = LAYERS * BATCH * HIDDEN;
    size_t nbytes, reserve;
    MUST(cudnnGetRNNTempSpaceSizes(net->handle, net->rnn, CUDNN_FWD_MODE_TRAINING, net->x_desc,
                                   &nbytes, &reserve));
    zeros(net, WORKSPACE, nbytes);
    zeros(net, RESERVE, reserve);
    MUST(cudnnGetRNNWeightSpaceSize(net->handle, net->rnn, &nbytes));
    numbers(net, W, nbytes / sizeof(float), 0.3f);
    zeros(net, DW, nbytes);
    numbers(net, X, STEPS * BATCH * INPUT, 1);
    zeros(net, DX, net->nbytes[X]);
    zeros(net, Y, STEPS * BATCH * HIDDEN * sizeof(float));
    zeros(net, DY, net->nbytes[Y]);
    numbers(net, HX, state, 0.5f);
    numbers(net, CX, state, 0.5f);
    zeros(net, HY, net->nbytes[HX]);
    zeros(net, CY, net->nbytes[HX]);
    zeros(net, DHX, net->nbytes[HX]);
    zeros(net, DCX, net->nbytes[HX]);
}

/* As is usual, LSTM starts by remembering. */
static void open_forget_gates(struct network *net)
{
    cudnnTensorDescriptor_t matrix, bias;
    cudnnDataType_t data_type;
    int num_dims, dims[3], strides[3];
    void *matrix_address, *bias_address;
    MUST(cudnnCreateTensorDescriptor(&matrix));
    MUST(cudnnCreateTensorDescriptor(&bias));
    for (int layer = 0; layer < LAYERS; layer++) {
        MUST(cudnnGetRNNWeightParams(net->handle, net->rnn, layer, net->nbytes[W], net->data[W],
                                     FORGET_GATE, matrix, &matrix_address, bias, &bias_address));
        MUST(cudnnGetTensorNdDescriptor(matrix, 3, &data_type, &num_dims, dims, strides));
        CHECK(num_dims == 3 && dims[1] == HIDDEN && dims[2] == (layer ? HIDDEN : INPUT));
        CHECK((char *)matrix_address < (char *)bias_address);
        for (int unit = 0; unit < HIDDEN; unit++)
            ((float *)bias_address)[unit] = 1;
    }
    MUST(cudnnDestroyTensorDescriptor(matrix));
    MUST(cudnnDestroyTensorDescriptor(bias));
}

static void forward(struct network *net)
{
    MUST(cudnnRNNForward(net->handle, net->rnn, CUDNN_FWD_MODE_TRAINING, NULL, net->x_desc,
                         net->data[X], net->y_desc, net->data[Y], net->state_desc, net->data[HX],
                         net->data[HY], net->state_desc, net->data[CX], net->data[CY],
                         net->nbytes[W], net->data[W], net->nbytes[WORKSPACE], net->data[WORKSPACE],
                         net->nbytes[RESERVE], net->data[RESERVE]));
}

static void backward(struct network *net)
{
    MUST(cudnnRNNBackwardData_v8(
        net->handle, net->rnn, NULL, net->y_desc, net->data[Y], net->data[DY], net->x_desc,
        net->data[DX], net->state_desc, net->data[HX], NULL, net->data[DHX], net->state_desc,
        net->data[CX], NULL, net->data[DCX], net->nbytes[W], net->data[W], net->nbytes[WORKSPACE],
        net->data[WORKSPACE], net->nbytes[RESERVE], net->data[RESERVE]));
    memset(net->data[DW], 0, net->nbytes[DW]);
    MUST(cudnnRNNBackwardWeights_v8(
        net->handle, net->rnn, CUDNN_WGRAD_MODE_ADD, NULL, net->x_desc, net->data[X],
        net->state_desc, net->data[HX], net->y_desc, net->data[Y], net->nbytes[DW], net->data[DW],
        net->nbytes[WORKSPACE], net->data[WORKSPACE], net->nbytes[RESERVE], net->data[RESERVE]));
}

/* Mean square distance of y to the target where there are steps; its gradient goes to dy. */
static double compare(struct network *net, const float *target)
{
    const float *y = net->data[Y];
    float *dy = net->data[DY];
    double loss = 0;
    for (int step = 0; step < STEPS; step++)
        for (int row = 0; row < BATCH; row++)
            for (int unit = 0; unit < HIDDEN && step < lengths[row]; unit++) {
                const int i = (step * BATCH + row) * HIDDEN + unit;
                dy[i] = (y[i] - target[i]) * (2.0f / (LIVE * HIDDEN));
                loss += (double)(y[i] - target[i]) * (double)(y[i] - target[i]) / (LIVE * HIDDEN);
            }
    return loss;
}

static void descend(struct network *net)
{
    float *w = net->data[W], *dw = net->data[DW];
    for (size_t i = 0; i < net->nbytes[W] / sizeof *w; i++)
        w[i] -= learning_rate * dw[i];
}

static void write_buffer(const struct network *net, enum buffer buffer)
{
    write_result(names[buffer], net->data[buffer], net->nbytes[buffer]);
}

static void destroy_network(struct network *net)
{
    for (int buffer = 0; buffer < NUM_BUFFERS; buffer++)
        free(net->data[buffer]);
    MUST(cudnnDestroyTensorDescriptor(net->state_desc));
    MUST(cudnnDestroyRNNDataDescriptor(net->x_desc));
    MUST(cudnnDestroyRNNDataDescriptor(net->y_desc));
    MUST(cudnnDestroyRNNDescriptor(net->rnn));
    MUST(cudnnDestroy(net->handle));
}

int main(int argc, char **argv)
{
    struct network net = {0};
    float *target = host_floats(STEPS * BATCH * HIDDEN, 0.5f);
    open_results(argc, argv);
    describe_network(&net);
    allocate_network(&net);
    open_forget_gates(&net);
    write_buffer(&net, X);
    write_buffer(&net, HX);
    write_buffer(&net, CX);
    write_buffer(&net, W);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        forward(&net);
        printf("%.9f\n", compare(&net, target));
        backward(&net);
        for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
            write_buffer(&net, outputs[i]);
        descend(&net);
    }
    write_buffer(&net, W);
    destroy_network(&net);
    free(target);
    return exit_status();
}
