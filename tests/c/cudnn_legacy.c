/* The functions of version 6 and 7 on a GRU: where its parameters are, and that a pass over one
 * descriptor per step computes what a pass of version 8 over packed sequences does. */

#include <string.h>

#include <cudnn.h>

#include "results.h"

enum { STEPS = 3, BATCH = 2, ROWS = 5, INPUT = 3, HIDDEN = 4, GATES = 3 };

static const int batch_sizes[STEPS] = {2, 2, 1}; /* ROWS together */
static const int lengths[BATCH] = {3, 2};        /* the same */

static cudnnHandle_t handle;
static cudnnDropoutDescriptor_t dropout;
static cudnnTensorDescriptor_t x_descs[STEPS], y_descs[STEPS], h_desc;
static cudnnFilterDescriptor_t w_desc;

static cudnnTensorDescriptor_t describe(int first, int second, int third)
{
    const int dims[] = {first, second, third}, strides[] = {second * third, third, 1};
    cudnnTensorDescriptor_t desc;
    MUST(cudnnCreateTensorDescriptor(&desc));
    MUST(cudnnSetTensorNdDescriptor(desc, CUDNN_DATA_FLOAT, 3, dims, strides));
    return desc;
}

static cudnnRNNDescriptor_t describe_network(size_t *weight_bytes)
{
    cudnnRNNDescriptor_t rnn;
    int dims[] = {0, 1, 1};
    MUST(cudnnCreateDropoutDescriptor(&dropout));
    MUST(cudnnSetDropoutDescriptor(dropout, handle, 0, NULL, 0, 0));
    MUST(cudnnCreateRNNDescriptor(&rnn));
    MUST(cudnnSetRNNDescriptor_v6(handle, rnn, HIDDEN, 1, dropout, CUDNN_LINEAR_INPUT,
                                  CUDNN_UNIDIRECTIONAL, CUDNN_GRU, CUDNN_RNN_ALGO_STANDARD,
                                  CUDNN_DATA_FLOAT));
    for (int step = 0; step < STEPS; step++) {
        x_descs[step] = describe(batch_sizes[step], INPUT, 1);
        y_descs[step] = describe(batch_sizes[step], HIDDEN, 1);
    }
    h_desc = describe(1, BATCH, HIDDEN);
    MUST(cudnnGetRNNParamsSize(handle, rnn, x_descs[0], weight_bytes, CUDNN_DATA_FLOAT));
    dims[0] = (int)(*weight_bytes / sizeof(float));
    CHECK(dims[0] == GATES * HIDDEN * (INPUT + HIDDEN + 2));
    MUST(cudnnCreateFilterDescriptor(&w_desc));
    MUST(cudnnSetFilterNdDescriptor(w_desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 3, dims));
    return rnn;
}

/* Of the recurrent side of gate 1: behind all input matrices and one recurrent, and behind all
 * matrices, the input biases and one recurrent. w may be NULL. */
static void check_parameters(cudnnRNNDescriptor_t rnn, const float *w)
{
    const size_t matrices = GATES * HIDDEN * (INPUT + HIDDEN);
    const size_t matrix_at = (GATES * INPUT + HIDDEN) * HIDDEN;
    cudnnFilterDescriptor_t desc;
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int num_dims, dims[3];
    void *address;
    MUST(cudnnCreateFilterDescriptor(&desc));
    MUST(cudnnGetRNNLinLayerMatrixParams(handle, rnn, 0, x_descs[0], w_desc, w, GATES + 1, desc,
                                         &address));
    CHECK((uintptr_t)address == (uintptr_t)w + matrix_at * sizeof(float));
    MUST(cudnnGetFilterNdDescriptor(desc, 3, &type, &format, &num_dims, dims));
    CHECK(num_dims == 3 && dims[0] == 1 && dims[1] == HIDDEN && dims[2] == HIDDEN);
    MUST(cudnnGetRNNLinLayerBiasParams(handle, rnn, 0, x_descs[0], w_desc, w, GATES + 1, desc,
                                       &address));
    CHECK((uintptr_t)address == (uintptr_t)w + (matrices + (GATES + 1) * HIDDEN) * sizeof(float));
    MUST(cudnnDestroyFilterDescriptor(desc));
}

static void *room(size_t nbytes) { return calloc(nbytes ? nbytes : 1, 1); }

static void run_steps(cudnnRNNDescriptor_t rnn, const float *x, const float *w, float *y, float *hy)
{
    size_t workspace_bytes, reserve_bytes;
    MUST(cudnnGetRNNWorkspaceSize(handle, rnn, STEPS, x_descs, &workspace_bytes));
    MUST(cudnnGetRNNTrainingReserveSize(handle, rnn, STEPS, x_descs, &reserve_bytes));
    void *workspace = room(workspace_bytes), *reserve = room(reserve_bytes);
    MUST(cudnnRNNForwardTraining(handle, rnn, STEPS, x_descs, x, h_desc, NULL, h_desc, NULL, w_desc,
                                 w, y_descs, y, h_desc, hy, h_desc, NULL, workspace,
                                 workspace_bytes, reserve, reserve_bytes));
    free(workspace);
    free(reserve);
}

static cudnnRNNDataDescriptor_t describe_sequences(int vector_size)
{
    cudnnRNNDataDescriptor_t desc;
    MUST(cudnnCreateRNNDataDescriptor(&desc));
    MUST(cudnnSetRNNDataDescriptor(desc, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                   STEPS, BATCH, vector_size, lengths, NULL));
    return desc;
}

static void run_packed(const float *x, const float *w, size_t weight_bytes, float *y, float *hy)
{
    cudnnRNNDataDescriptor_t x_desc = describe_sequences(INPUT);
    cudnnRNNDataDescriptor_t y_desc = describe_sequences(HIDDEN);
    cudnnRNNDescriptor_t rnn;
    size_t workspace_bytes, reserve_bytes;
    MUST(cudnnCreateRNNDescriptor(&rnn));
    MUST(cudnnSetRNNDescriptor_v8(rnn, CUDNN_RNN_ALGO_STANDARD, CUDNN_GRU, CUDNN_RNN_DOUBLE_BIAS,
                                  CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
                                  CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, INPUT, HIDDEN, HIDDEN, 1,
                                  dropout, CUDNN_RNN_PADDED_IO_DISABLED));
    MUST(cudnnGetRNNTempSpaceSizes(handle, rnn, CUDNN_FWD_MODE_TRAINING, x_desc, &workspace_bytes,
                                   &reserve_bytes));
    void *workspace = room(workspace_bytes), *reserve = room(reserve_bytes);
    MUST(cudnnRNNForward(handle, rnn, CUDNN_FWD_MODE_TRAINING, NULL, x_desc, x, y_desc, y, h_desc,
                         NULL, hy, NULL, NULL, NULL, weight_bytes, w, workspace_bytes, workspace,
                         reserve_bytes, reserve));
    free(workspace);
    free(reserve);
    MUST(cudnnDestroyRNNDescriptor(rnn));
    MUST(cudnnDestroyRNNDataDescriptor(x_desc));
    MUST(cudnnDestroyRNNDataDescriptor(y_desc));
}

int main(void)
{
    static float y[ROWS * HIDDEN], packed_y[ROWS * HIDDEN];
    static float hy[BATCH * HIDDEN], packed_hy[BATCH * HIDDEN];
    size_t weight_bytes = 0;
    MUST(cudnnCreate(&handle));
    cudnnRNNDescriptor_t rnn = describe_network(&weight_bytes);
    float *x = host_floats(ROWS * INPUT, 1), *w = host_floats(weight_bytes / sizeof *w, 0.5f);
    check_parameters(rnn, w);
    check_parameters(rnn, NULL);
    run_steps(rnn, x, w, y, hy);
    run_packed(x, w, weight_bytes, packed_y, packed_hy);
    CHECK(!memcmp(y, packed_y, sizeof y) && y[ROWS * HIDDEN - 1] != 0);
    CHECK(!memcmp(hy, packed_hy, sizeof hy) && hy[BATCH * HIDDEN - 1] != 0);
    free(x);
    free(w);
    for (int step = 0; step < STEPS; step++) {
        MUST(cudnnDestroyTensorDescriptor(x_descs[step]));
        MUST(cudnnDestroyTensorDescriptor(y_descs[step]));
    }
    MUST(cudnnDestroyTensorDescriptor(h_desc));
    MUST(cudnnDestroyFilterDescriptor(w_desc));
    MUST(cudnnDestroyDropoutDescriptor(dropout));
    MUST(cudnnDestroyRNNDescriptor(rnn));
    MUST(cudnnDestroy(handle));
    return exit_status();
}
