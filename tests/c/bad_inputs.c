/* Every documented bad input and its status, of all but the passes (bad_passes.c). */

#include "client.h"

enum { BAD = miopenStatusBadParm, UNKNOWN = miopenStatusUnknownError };

static miopenHandle_t handle;
static miopenTensorDescriptor_t matrix; /* (2, 3) */

/* As an object that a client makes from any address; no such address is ever followed. */
#define FORGED(type, value) ((type)(uintptr_t)(value))

static void check_create(void)
{
    EXPECT(BAD, miopenCreate(NULL));
    EXPECT(BAD, miopenCreateWithStream(NULL, NULL));
    EXPECT(BAD, miopenCreateTensorDescriptor(NULL));
    EXPECT(BAD, miopenCreateSeqTensorDescriptor(NULL));
    EXPECT(BAD, miopenCreateDropoutDescriptor(NULL));
    EXPECT(BAD, miopenCreateRNNDescriptor(NULL));
    EXPECT(0, miopenDestroy(NULL));
    EXPECT(0, miopenDestroyTensorDescriptor(NULL));
    EXPECT(0, miopenDestroySeqTensorDescriptor(NULL));
    EXPECT(0, miopenDestroyDropoutDescriptor(NULL));
    EXPECT(0, miopenDestroyRNNDescriptor(NULL));
}

static void check_handles(void)
{
    miopenTensorDescriptor_t gone = describe(1, 0, 0), newer;
    int size;
    float time;
    miopenAcceleratorQueue_t stream;
    MUST(miopenDestroyTensorDescriptor(gone));
    newer = describe(1, 0, 0); /* must not be what the stale handle means */
    EXPECT(BAD, miopenGetTensorDescriptorSize(gone, &size));
    EXPECT(BAD, miopenDestroyTensorDescriptor(gone));
    MUST(miopenDestroyTensorDescriptor(newer));
    EXPECT(BAD, miopenGetTensorDescriptorSize(NULL, &size));
    EXPECT(BAD, miopenGetTensorDescriptorSize(FORGED(miopenTensorDescriptor_t, 0x1234), &size));
    EXPECT(BAD, miopenGetTensorDescriptorSize(FORGED(miopenTensorDescriptor_t, -1), &size));
    EXPECT(BAD, miopenGetTensorDescriptorSize(FORGED(miopenTensorDescriptor_t, handle), &size));
    EXPECT(BAD, miopenGetTensorDescriptorSize(FORGED(miopenTensorDescriptor_t, &size), &size));
    EXPECT(BAD, miopenGetTensorDescriptorSize(matrix, NULL));
    EXPECT(BAD, miopenEnableProfiling(FORGED(miopenHandle_t, matrix), true));
    EXPECT(BAD, miopenGetStream(handle, NULL));
    EXPECT(BAD, miopenGetStream(NULL, &stream));
    EXPECT(BAD, miopenGetKernelTime(handle, NULL));
    EXPECT(BAD, miopenGetKernelTime(NULL, &time));
}

static void check_tensor_descriptors(void)
{
    const int dims[] = {2, 3}, zero[] = {2, 0}, negative[] = {-1, 3};
    const size_t wide[] = {2, 0};
    int n;
    size_t nbytes;
    miopenTensorDescriptor_t desc = describe(2, 3, 0);
    EXPECT(miopenStatusInvalidValue, miopenSetTensorDescriptor(desc, miopenFloat, 2, NULL, NULL));
    EXPECT(miopenStatusInvalidValue, miopenSetTensorDescriptor(desc, miopenFloat, 0, dims, NULL));
    EXPECT(miopenStatusInvalidValue, miopenSetTensorDescriptor(desc, miopenFloat, -1, dims, NULL));
    EXPECT(BAD, miopenSetTensorDescriptor(desc, miopenFloat, 2, zero, NULL));
    EXPECT(BAD, miopenSetTensorDescriptor(desc, miopenFloat, 2, negative, NULL));
    EXPECT(BAD, miopenSetTensorDescriptor(desc, miopenFloat, 2, dims, zero));
    EXPECT(BAD, miopenSetTensorDescriptor(desc, (miopenDataType_t)4, 2, dims, NULL));
    EXPECT(BAD, miopenSetTensorDescriptorV2(desc, miopenFloat, 2, wide, NULL));
    EXPECT(BAD, miopenSet4dTensorDescriptor(desc, miopenFloat, 1, 2, 0, 4));
    EXPECT(BAD, miopenSet4dTensorDescriptorEx(desc, miopenFloat, 1, 2, 3, 4, 24, 12, 0, 1));
    EXPECT(BAD,
           miopenSetNdTensorDescriptorWithLayout(desc, miopenFloat, miopenTensorNCHW, dims, 2));
    EXPECT(BAD, miopenGet4dTensorDescriptor(desc, NULL, &n, &n, &n, &n, &n, &n, &n, &n));
    EXPECT(BAD, miopenGetTensorNumBytes(desc, NULL));
    EXPECT(0, miopenGetTensorNumBytes(desc, &nbytes));
    CHECK(nbytes == 24); /* none of the refusals changed anything */
    MUST(miopenDestroyTensorDescriptor(desc));
}

static void check_tensor_operations(void)
{
    const float one = 1;
    float *data = device_zeros(100 * sizeof(float));
    miopenTensorDescriptor_t other = describe(2, 4, 0), bytes = describe(2, 3, 0);
    const int dims[] = {2, 3};
    MUST(miopenSetTensorDescriptor(bytes, miopenInt8, 2, dims, NULL));
    EXPECT(BAD, miopenSetTensor(handle, matrix, NULL, &one));
    EXPECT(BAD, miopenSetTensor(handle, matrix, data, NULL));
    EXPECT(BAD, miopenScaleTensor(handle, matrix, NULL, &one));
    EXPECT(BAD, miopenScaleTensor(handle, bytes, data, &one));
    EXPECT(BAD, miopenTransformTensor(handle, &one, matrix, NULL, &one, matrix, data));
    EXPECT(UNKNOWN, miopenTransformTensor(handle, &one, matrix, data, &one, other, data + 50));
    EXPECT(UNKNOWN, miopenTransformTensor(handle, &one, matrix, data, &one, bytes, data + 50));
    EXPECT(BAD, miopenOpTensor(handle, miopenTensorOpAdd, &one, matrix, NULL, &one, matrix, data,
                               &one, matrix, data + 50));
    EXPECT(UNKNOWN, miopenOpTensor(handle, miopenTensorOpAdd, &one, matrix, data, &one, other, data,
                                   &one, matrix, data + 50));
    MUST(miopenDestroyTensorDescriptor(other));
    MUST(miopenDestroyTensorDescriptor(bytes));
    MUST(hipFree(data));
}

static void check_dropout(void)
{
    miopenDropoutDescriptor_t desc;
    size_t nbytes;
    float rate, *data = device_zeros(100 * sizeof(float));
    MUST(miopenCreateDropoutDescriptor(&desc));
    EXPECT(BAD, miopenDropoutGetStatesSize(handle, NULL));
    EXPECT(BAD, miopenDropoutGetReserveSpaceSize(matrix, NULL));
    EXPECT(BAD, miopenDropoutGetReserveSpaceSize(NULL, &nbytes));
    EXPECT(BAD, miopenSetDropoutDescriptor(desc, handle, 0.5f, NULL, 48, 0, false, false,
                                           MIOPEN_RNG_PSEUDO_XORWOW));
    EXPECT(BAD, miopenGetDropoutDescriptor(desc, handle, &rate, NULL, NULL, NULL, NULL, NULL));
    EXPECT(BAD, miopenDropoutForward(handle, desc, matrix, matrix, NULL, matrix, data, NULL, 0));
    EXPECT(UNKNOWN,
           miopenDropoutForward(handle, desc, matrix, matrix, data, matrix, data + 50, NULL, 0));
    MUST(miopenDestroyDropoutDescriptor(desc));
    MUST(hipFree(data));
}

static int set_rnn(miopenRNNDescriptor_t rnn, int hidden_size, int layers, int direction, int mode,
                   int bias, int data_type)
{
    return (int)miopenSetRNNDescriptor(rnn, hidden_size, layers, miopenRNNlinear,
                                       (miopenRNNDirectionMode_t)direction, (miopenRNNMode_t)mode,
                                       (miopenRNNBiasMode_t)bias, miopenRNNdefault,
                                       (miopenDataType_t)data_type);
}

static void check_rnn_descriptor(void)
{
    miopenRNNDescriptor_t rnn;
    miopenRNNPaddingMode_t padding;
    MUST(miopenCreateRNNDescriptor(&rnn));
    EXPECT(BAD, set_rnn(rnn, -1, 1, 0, 0, 0, miopenFloat));
    EXPECT(BAD, set_rnn(rnn, 1, -1, 0, 0, 0, miopenFloat));
    EXPECT(BAD, set_rnn(rnn, 1, 1, 2, 0, 0, miopenFloat));
    EXPECT(BAD, set_rnn(rnn, 1, 1, 0, 4, 0, miopenFloat));
    EXPECT(BAD, set_rnn(rnn, 1, 1, 0, -1, 0, miopenFloat));
    EXPECT(BAD, set_rnn(rnn, 1, 1, 0, 0, 2, miopenFloat));
    EXPECT(BAD, set_rnn(rnn, 1, 1, 0, 0, 0, miopenBFloat16));
    EXPECT(BAD, set_rnn(rnn, 1, 1, 0, 0, 0, miopenDouble));
    EXPECT(BAD, set_rnn(rnn, 1, 1, 0, 0, 0, 99));
    EXPECT(BAD, set_rnn(NULL, 1, 1, 0, 0, 0, miopenFloat));
    EXPECT(0, set_rnn(rnn, 0, 0, 0, 0, 0, miopenFloat));
    EXPECT(BAD, miopenSetRNNPaddingMode(rnn, (miopenRNNPaddingMode_t)2));
    EXPECT(BAD, miopenGetRNNPaddingMode(rnn, NULL));
    EXPECT(BAD, miopenGetRNNPaddingMode(NULL, &padding));
    MUST(miopenDestroyRNNDescriptor(rnn));
}

static int set_sequence(miopenSeqTensorDescriptor_t desc, int layout, int steps, int batch,
                        int size, const int *lengths)
{
    return (int)miopenSetRNNDataSeqTensorDescriptor(
        desc, miopenFloat, (miopenRNNBaseLayout_t)layout, steps, batch, size, lengths, NULL);
}

static void check_sequence_descriptor(void)
{
    const int good[] = {3, 1}, negative[] = {3, -1}, longer[] = {4, 1}, ascending[] = {1, 3};
    miopenSeqTensorDescriptor_t desc;
    miopenDataType_t data_type;
    MUST(miopenCreateSeqTensorDescriptor(&desc));
    EXPECT(BAD, set_sequence(desc, miopenRNNDataUnknownLayout, 3, 2, 4, good));
    EXPECT(BAD, set_sequence(desc, 4, 3, 2, 4, good));
    EXPECT(BAD, set_sequence(desc, miopenRNNDataSeqMajorPadded, 0, 2, 4, good));
    EXPECT(BAD, set_sequence(desc, miopenRNNDataSeqMajorPadded, 3, 0, 4, good));
    EXPECT(BAD, set_sequence(desc, miopenRNNDataSeqMajorPadded, 3, 2, 0, good));
    EXPECT(BAD, set_sequence(desc, miopenRNNDataSeqMajorPadded, 3, 2, 4, NULL));
    EXPECT(BAD, set_sequence(desc, miopenRNNDataSeqMajorPadded, 3, 2, 4, negative));
    EXPECT(BAD, set_sequence(desc, miopenRNNDataSeqMajorPadded, 3, 2, 4, longer));
    EXPECT(BAD, set_sequence(desc, miopenRNNDataSeqMajorNotPadded, 3, 2, 4, ascending));
    EXPECT(0, set_sequence(desc, miopenRNNDataBatchMajorPadded, 3, 2, 4, ascending));
    EXPECT(BAD, miopenGetRNNDataSeqTensorDescriptor(desc, &data_type, NULL, NULL, NULL, NULL, 0,
                                                    NULL, NULL));
    MUST(miopenDestroySeqTensorDescriptor(desc));
}

static void check_sizes(void)
{
    miopenRNNDescriptor_t rnn = describe_rnn(4, 1, miopenLSTM, miopenRNNunidirection, NULL);
    miopenTensorDescriptor_t half = describe(2, 3, 0), param;
    miopenTensorDescriptor_t holes[] = {matrix, NULL};
    const int dims[] = {2, 3};
    size_t nbytes;
    MUST(miopenSetTensorDescriptor(half, miopenHalf, 2, dims, NULL));
    MUST(miopenCreateTensorDescriptor(&param));
    EXPECT(BAD, miopenGetRNNParamsSize(handle, rnn, half, &nbytes, miopenFloat));
    EXPECT(BAD, miopenGetRNNParamsSize(handle, rnn, matrix, &nbytes, miopenHalf));
    EXPECT(BAD, miopenGetRNNParamsSize(handle, rnn, matrix, NULL, miopenFloat));
    EXPECT(BAD, miopenGetRNNWorkspaceSize(handle, rnn, 0, &matrix, &nbytes));
    EXPECT(BAD, miopenGetRNNWorkspaceSize(handle, rnn, -1, &matrix, &nbytes));
    EXPECT(BAD, miopenGetRNNWorkspaceSize(handle, rnn, 1, NULL, &nbytes));
    EXPECT(BAD, miopenGetRNNWorkspaceSize(handle, rnn, 1, &half, &nbytes));
    EXPECT(BAD, miopenGetRNNTrainingReserveSize(handle, rnn, 2, holes, &nbytes));
    EXPECT(BAD, miopenGetRNNTrainingReserveSize(handle, rnn, 1, &matrix, NULL));
    EXPECT(BAD, miopenGetRNNLayerParamSize(handle, rnn, 1, matrix, 0, &nbytes));
    EXPECT(BAD, miopenGetRNNLayerParamSize(handle, rnn, 0, matrix, 8, &nbytes));
    EXPECT(BAD, miopenGetRNNLayerParamOffset(rnn, -1, matrix, 0, param, &nbytes));
    EXPECT(BAD, miopenGetRNNLayerBiasOffset(rnn, 0, matrix, -1, param, &nbytes));
    EXPECT(BAD, miopenGetRNNLayerBiasSize(handle, rnn, 0, 8, &nbytes));
    EXPECT(BAD, miopenGetRNNLayerParam(handle, rnn, 0, matrix, matrix, NULL, 0, param, &nbytes));
    EXPECT(BAD, miopenSetRNNLayerParam(handle, rnn, 0, matrix, matrix, &nbytes, 0, param, NULL));
    MUST(miopenDestroyTensorDescriptor(half));
    MUST(miopenDestroyTensorDescriptor(param));
    MUST(miopenDestroyRNNDescriptor(rnn));
}

static void check_error_strings(void)
{
    CHECK(!strcmp(miopenGetErrorString(miopenStatusBadParm), "miopenStatusBadParm"));
    CHECK(!strcmp(miopenGetErrorString((miopenStatus_t)99), "Unknown error status"));
}

int main(void)
{
    MUST(miopenCreate(&handle));
    matrix = describe(2, 3, 0);
    check_create();
    check_handles();
    check_tensor_descriptors();
    check_tensor_operations();
    check_dropout();
    check_rnn_descriptor();
    check_sequence_descriptor();
    check_sizes();
    check_error_strings();
    MUST(miopenDestroyTensorDescriptor(matrix));
    MUST(miopenDestroy(handle));
    EXPECT(BAD, miopenDestroy(handle));
    return exit_status();
}
