/* Documented bad inputs of cuDNN's API and their statuses. */

#include <string.h>

#include <cudnn.h>

#include "results.h"

enum { BAD = CUDNN_STATUS_BAD_PARAM, UNSUPPORTED = CUDNN_STATUS_NOT_SUPPORTED };
enum { STEPS = 3, BATCH = 2, INPUT = 4, HIDDEN = 5, ROOM = 4096 };

static cudnnHandle_t handle;
static cudnnRNNDescriptor_t rnn; /* LSTM of one layer, padding allowed */
static cudnnRNNDataDescriptor_t x_desc, y_desc;
static cudnnTensorDescriptor_t state_desc;
static float x[STEPS * BATCH * INPUT], y[STEPS * BATCH * HIDDEN], weights[ROOM], space[ROOM];

/* As an object that a client makes from any address; no such address is ever followed. */
#define FORGED(type, value) ((type)(uintptr_t)(value))

static int set_rnn(cudnnRNNDescriptor_t desc, int mode, int bias, int direction, int input_mode,
                   int data_type, int input_size, int hidden_size, int projected_size, int layers)
{
    cudnnDataType_t type = (cudnnDataType_t)data_type;
    cudnnDataType_t math = type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    return (int)cudnnSetRNNDescriptor_v8(desc, CUDNN_RNN_ALGO_STANDARD, (cudnnRNNMode_t)mode,
                                         (cudnnRNNBiasMode_t)bias, (cudnnDirectionMode_t)direction,
                                         (cudnnRNNInputMode_t)input_mode, type, math,
                                         CUDNN_DEFAULT_MATH, input_size, hidden_size,
                                         projected_size, layers, NULL, CUDNN_RNN_PADDED_IO_ENABLED);
}

static int set_sequence(cudnnRNNDataDescriptor_t desc, int layout, int steps, int batch, int size,
                        const int *lengths)
{
    return (int)cudnnSetRNNDataDescriptor(desc, CUDNN_DATA_FLOAT, (cudnnRNNDataLayout_t)layout,
                                          steps, batch, size, lengths, NULL);
}

static cudnnRNNDataDescriptor_t describe_sequences(int vector_size)
{
    const int lengths[BATCH] = {2, 3};
    cudnnRNNDataDescriptor_t desc;
    MUST(cudnnCreateRNNDataDescriptor(&desc));
    MUST(set_sequence(desc, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, STEPS, BATCH, vector_size,
                      lengths));
    return desc;
}

static void describe_network(void)
{
    const int dims[] = {1, BATCH, HIDDEN}, strides[] = {BATCH * HIDDEN, HIDDEN, 1};
    MUST(cudnnCreate(&handle));
    MUST(cudnnCreateRNNDescriptor(&rnn));
    MUST(set_rnn(rnn, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS, 0, 0, CUDNN_DATA_FLOAT, INPUT, HIDDEN,
                 HIDDEN, 1));
    x_desc = describe_sequences(INPUT);
    y_desc = describe_sequences(HIDDEN);
    MUST(cudnnCreateTensorDescriptor(&state_desc));
    MUST(cudnnSetTensorNdDescriptor(state_desc, CUDNN_DATA_FLOAT, 3, dims, strides));
}

static void check_null(void)
{
    EXPECT(BAD, cudnnCreate(NULL));
    EXPECT(BAD, cudnnCreateTensorDescriptor(NULL));
    EXPECT(BAD, cudnnCreateFilterDescriptor(NULL));
    EXPECT(BAD, cudnnCreateDropoutDescriptor(NULL));
    EXPECT(BAD, cudnnCreateRNNDescriptor(NULL));
    EXPECT(BAD, cudnnCreateRNNDataDescriptor(NULL));
    EXPECT(0, cudnnDestroy(NULL));
    EXPECT(0, cudnnDestroyTensorDescriptor(NULL));
    EXPECT(0, cudnnDestroyFilterDescriptor(NULL));
    EXPECT(0, cudnnDestroyDropoutDescriptor(NULL));
    EXPECT(0, cudnnDestroyRNNDescriptor(NULL));
    EXPECT(0, cudnnDestroyRNNDataDescriptor(NULL));
    EXPECT(0, cudnnDestroyPersistentRNNPlan(NULL));
}

static void check_handles(void)
{
    cudnnTensorDescriptor_t gone, newer;
    cudaStream_t stream;
    size_t size;
    MUST(cudnnCreateTensorDescriptor(&gone));
    MUST(cudnnDestroyTensorDescriptor(gone));
    MUST(cudnnCreateTensorDescriptor(&newer)); /* must not be what the stale handle means */
    EXPECT(BAD, cudnnGetTensorSizeInBytes(gone, &size));
    EXPECT(BAD, cudnnDestroyTensorDescriptor(gone));
    MUST(cudnnDestroyTensorDescriptor(newer));
    EXPECT(BAD, cudnnGetTensorSizeInBytes(NULL, &size));
    EXPECT(BAD, cudnnGetTensorSizeInBytes(FORGED(cudnnTensorDescriptor_t, 0x1234), &size));
    EXPECT(BAD, cudnnGetTensorSizeInBytes(FORGED(cudnnTensorDescriptor_t, handle), &size));
    EXPECT(BAD, cudnnGetTensorSizeInBytes(FORGED(cudnnTensorDescriptor_t, &size), &size));
    EXPECT(BAD, cudnnGetTensorSizeInBytes(state_desc, NULL));
    EXPECT(BAD, cudnnGetStream(handle, NULL));
    EXPECT(BAD, cudnnGetStream(NULL, &stream));
    EXPECT(BAD, cudnnSetStream(NULL, NULL));
}

static void check_tensor_descriptors(void)
{
    const int dims[] = {2, 3, 4}, strides[] = {12, 4, 1}, zero[] = {2, 0, 4},
              negative[] = {-1, 3, 4};
    cudnnTensorDescriptor_t desc;
    size_t nbytes;
    MUST(cudnnCreateTensorDescriptor(&desc));
    MUST(cudnnSetTensorNdDescriptor(desc, CUDNN_DATA_FLOAT, 3, dims, strides));
    EXPECT(BAD, cudnnSetTensorNdDescriptor(desc, CUDNN_DATA_FLOAT, 3, NULL, strides));
    EXPECT(BAD, cudnnSetTensorNdDescriptor(desc, CUDNN_DATA_FLOAT, 3, dims, NULL));
    EXPECT(BAD, cudnnSetTensorNdDescriptor(desc, CUDNN_DATA_FLOAT, -1, dims, strides));
    EXPECT(BAD, cudnnSetTensorNdDescriptor(desc, CUDNN_DATA_FLOAT, 3, zero, strides));
    EXPECT(BAD, cudnnSetTensorNdDescriptor(desc, CUDNN_DATA_FLOAT, 3, negative, strides));
    EXPECT(BAD, cudnnSetTensorNdDescriptor(desc, (cudnnDataType_t)99, 3, dims, strides));
    EXPECT(0, cudnnGetTensorSizeInBytes(desc, &nbytes));
    CHECK(nbytes == 24 * sizeof(float)); /* none of the refusals changed anything */
    MUST(cudnnDestroyTensorDescriptor(desc));
}

static void check_rnn_descriptor(void)
{
    const int type = CUDNN_DATA_FLOAT, bias = CUDNN_RNN_DOUBLE_BIAS;
    const double nan = strtod("nan", NULL);
    cudnnRNNDescriptor_t desc;
    MUST(cudnnCreateRNNDescriptor(&desc));
    EXPECT(BAD, set_rnn(NULL, CUDNN_LSTM, bias, 0, 0, type, 4, 5, 5, 1));
    EXPECT(BAD, set_rnn(desc, 4, bias, 0, 0, type, 4, 5, 5, 1));
    EXPECT(BAD, set_rnn(desc, -1, bias, 0, 0, type, 4, 5, 5, 1));
    EXPECT(BAD, set_rnn(desc, CUDNN_LSTM, 4, 0, 0, type, 4, 5, 5, 1));
    EXPECT(BAD, set_rnn(desc, CUDNN_LSTM, bias, 2, 0, type, 4, 5, 5, 1));
    EXPECT(BAD, set_rnn(desc, CUDNN_LSTM, bias, 0, 2, type, 4, 5, 5, 1));
    EXPECT(BAD, set_rnn(desc, CUDNN_LSTM, bias, 0, 0, 99, 4, 5, 5, 1));
    EXPECT(BAD, set_rnn(desc, CUDNN_LSTM, bias, 0, 0, type, 4, 0, 5, 1));
    EXPECT(BAD, set_rnn(desc, CUDNN_LSTM, bias, 0, 0, type, 4, 5, 5, 0));
    EXPECT(BAD, set_rnn(desc, CUDNN_LSTM, bias, 0, CUDNN_SKIP_INPUT, type, 4, 5, 5, 1));
    EXPECT(UNSUPPORTED, set_rnn(desc, CUDNN_GRU, bias, 0, 0, type, 4, 5, 3, 1));
    EXPECT(UNSUPPORTED, set_rnn(desc, CUDNN_LSTM, bias, 0, 0, type, 4, 5, 6, 1));
    EXPECT(UNSUPPORTED, set_rnn(desc, CUDNN_LSTM, bias, 0, 0, CUDNN_DATA_INT8, 4, 5, 5, 1));
    MUST(set_rnn(desc, CUDNN_LSTM, bias, 0, 0, type, 4, 5, 3, 1));
    EXPECT(BAD, cudnnRNNSetClip_v9(desc, CUDNN_RNN_CLIP_MINMAX, 1, -1));
    EXPECT(BAD, cudnnRNNSetClip_v9(desc, CUDNN_RNN_CLIP_MINMAX, nan, 1));
    EXPECT(BAD, cudnnRNNSetClip_v9(desc, (cudnnRNNClipMode_t)2, -1, 1));
    EXPECT(BAD, cudnnBuildRNNDynamic(NULL, desc, 1));
    MUST(cudnnDestroyRNNDescriptor(desc));
}

static void check_data_descriptor(void)
{
    const int good[] = {3, 1}, negative[] = {3, -1}, longer[] = {4, 1}, ascending[] = {1, 3};
    const int padded = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
    const int packed = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
    cudnnRNNDataDescriptor_t desc;
    cudnnDataType_t type;
    cudnnRNNDataLayout_t layout;
    int steps, batch, size, found[4];
    MUST(cudnnCreateRNNDataDescriptor(&desc));
    EXPECT(BAD, set_sequence(desc, 3, 3, 2, 4, good));
    EXPECT(BAD, set_sequence(desc, padded, 0, 2, 4, good));
    EXPECT(BAD, set_sequence(desc, padded, 3, 0, 4, good));
    EXPECT(BAD, set_sequence(desc, padded, 3, 2, 0, good));
    EXPECT(BAD, set_sequence(desc, padded, 3, 2, 4, NULL));
    EXPECT(BAD, set_sequence(desc, padded, 3, 2, 4, negative));
    EXPECT(BAD, set_sequence(desc, padded, 3, 2, 4, longer));
    EXPECT(BAD, set_sequence(desc, packed, 3, 2, 4, ascending));
    EXPECT(0, set_sequence(desc, padded, 3, 2, 4, ascending));
    EXPECT(BAD,
           cudnnGetRNNDataDescriptor(desc, &type, &layout, &steps, &batch, &size, 1, found, NULL));
    EXPECT(0,
           cudnnGetRNNDataDescriptor(desc, &type, &layout, &steps, &batch, &size, 4, found, NULL));
    CHECK(found[0] == 1 && found[1] == 3 && found[2] == 0 && found[3] == 0);
    MUST(cudnnDestroyRNNDataDescriptor(desc));
}

static void check_weights(size_t nbytes)
{
    cudnnTensorDescriptor_t desc;
    void *address;
    MUST(cudnnCreateTensorDescriptor(&desc));
    EXPECT(BAD, cudnnGetRNNWeightSpaceSize(handle, rnn, NULL));
    EXPECT(BAD, cudnnGetRNNWeightSpaceSize(NULL, rnn, &nbytes));
    EXPECT(BAD,
           cudnnGetRNNWeightParams(handle, rnn, 1, nbytes, weights, 0, desc, &address, NULL, NULL));
    EXPECT(BAD,
           cudnnGetRNNWeightParams(handle, rnn, 0, nbytes, weights, 9, desc, &address, NULL, NULL));
    EXPECT(BAD, cudnnGetRNNWeightParams(handle, rnn, 0, nbytes - 1, weights, 0, desc, &address,
                                        NULL, NULL));
    EXPECT(0,
           cudnnGetRNNWeightParams(handle, rnn, 0, nbytes, weights, 0, desc, &address, NULL, NULL));
    CHECK(address == (void *)weights);
    MUST(cudnnDestroyTensorDescriptor(desc));
}

static int forward(cudnnRNNDescriptor_t network, cudnnRNNDataDescriptor_t x_given,
                   const void *x_data, cudnnRNNDataDescriptor_t y_given, size_t weight_bytes,
                   size_t workspace_bytes)
{
    return (int)cudnnRNNForward(handle, network, CUDNN_FWD_MODE_INFERENCE, NULL, x_given, x_data,
                                y_given, y, state_desc, NULL, NULL, state_desc, NULL, NULL,
                                weight_bytes, weights, workspace_bytes, space, 0, NULL);
}

static void check_passes(size_t nbytes, size_t workspace)
{
    EXPECT(0, forward(rnn, x_desc, x, y_desc, nbytes, workspace));
    EXPECT(BAD, forward(NULL, x_desc, x, y_desc, nbytes, workspace));
    EXPECT(BAD, forward(rnn, NULL, x, y_desc, nbytes, workspace));
    EXPECT(BAD, forward(rnn, x_desc, NULL, y_desc, nbytes, workspace));
    EXPECT(BAD, forward(rnn, y_desc, x, y_desc, nbytes, workspace));
    EXPECT(BAD, forward(rnn, x_desc, x, x_desc, nbytes, workspace));
    EXPECT(BAD, forward(rnn, x_desc, x, y_desc, nbytes - 1, workspace));
    EXPECT(BAD, forward(rnn, x_desc, x, y_desc, nbytes, workspace - 1));
    EXPECT(UNSUPPORTED, cudnnRNNBackwardWeights_v8(handle, rnn, CUDNN_WGRAD_MODE_SET, NULL, x_desc,
                                                   x, state_desc, NULL, y_desc, y, nbytes, weights,
                                                   workspace, space, sizeof space, space));
}

static void check_errors(void)
{
    char message[64], start[8];
    CHECK(!strcmp(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM"));
    CHECK(!strcmp(cudnnGetErrorString((cudnnStatus_t)7), "CUDNN_UNKNOWN_STATUS"));
    EXPECT(BAD, cudnnDestroy(FORGED(cudnnHandle_t, 3)));
    cudnnGetLastErrorString(message, sizeof message);
    CHECK(!strncmp(message, "cudnnDestroy: `handle`", 22));
    cudnnGetLastErrorString(start, sizeof start);
    CHECK(!strcmp(start, "cudnnDe"));
    cudnnGetLastErrorString(NULL, 0);
    CHECK(cudnnGetVersion() == CUDNN_VERSION);
}

int main(void)
{
    size_t nbytes = 0, workspace = 0;
    describe_network();
    check_null();
    check_handles();
    check_tensor_descriptors();
    check_rnn_descriptor();
    check_data_descriptor();
    MUST(cudnnGetRNNWeightSpaceSize(handle, rnn, &nbytes));
    MUST(
        cudnnGetRNNTempSpaceSizes(handle, rnn, CUDNN_FWD_MODE_INFERENCE, x_desc, &workspace, NULL));
    CHECK(nbytes <= sizeof weights && workspace <= sizeof space);
    check_weights(nbytes);
    check_passes(nbytes, workspace);
    check_errors();
    MUST(cudnnDestroyTensorDescriptor(state_desc));
    MUST(cudnnDestroyRNNDataDescriptor(x_desc));
    MUST(cudnnDestroyRNNDataDescriptor(y_desc));
    MUST(cudnnDestroyRNNDescriptor(rnn));
    MUST(cudnnDestroy(handle));
    return exit_status();
}
