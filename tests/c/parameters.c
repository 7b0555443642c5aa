/* Where parameters lie: every matrix and bias of every mode, set, got and found at its offset; the
 * whole buffer is made of them. Any pointer that may be NULL is NULL once. */

#include "client.h"

enum { INPUT = 3, HIDDEN = 4, LAYERS = 2, DIRECTIONS = 2, MAX_COUNT = HIDDEN * HIDDEN * 2 };

struct place {
    miopenHandle_t handle;
    miopenRNNDescriptor_t rnn;
    miopenTensorDescriptor_t x_desc, w_desc, desc;
    float *w;
    int layer, id, is_bias;
};

static size_t size_of(const struct place *at)
{
    size_t nbytes = 0;
    if (at->is_bias)
        MUST(miopenGetRNNLayerBiasSize(at->handle, at->rnn, at->layer, at->id, &nbytes));
    else
        MUST(miopenGetRNNLayerParamSize(at->handle, at->rnn, at->layer, at->x_desc, at->id,
                                        &nbytes));
    return nbytes;
}

/* A NULL offset only fills the descriptor. */
static void locate(const struct place *at, size_t *offset)
{
    if (at->is_bias)
        MUST(miopenGetRNNLayerBiasOffset(at->rnn, at->layer, at->x_desc, at->id, at->desc, offset));
    else
        MUST(
            miopenGetRNNLayerParamOffset(at->rnn, at->layer, at->x_desc, at->id, at->desc, offset));
}

static void get(const struct place *at, void *values)
{
    if (at->is_bias)
        MUST(miopenGetRNNLayerBias(at->handle, at->rnn, at->layer, at->x_desc, at->w_desc, at->w,
                                   at->id, at->desc, values));
    else
        MUST(miopenGetRNNLayerParam(at->handle, at->rnn, at->layer, at->x_desc, at->w_desc, at->w,
                                    at->id, at->desc, values));
}

static void set(const struct place *at, const void *values)
{
    if (at->is_bias)
        MUST(miopenSetRNNLayerBias(at->handle, at->rnn, at->layer, at->x_desc, at->w_desc, at->w,
                                   at->id, at->desc, values));
    else
        MUST(miopenSetRNNLayerParam(at->handle, at->rnn, at->layer, at->x_desc, at->w_desc, at->w,
                                    at->id, at->desc, values));
}

/* Dimensions as the descriptor tells them, by way of each of its outputs alone. */
static size_t count_of(miopenTensorDescriptor_t desc)
{
    int num_dims = 0, dims[4] = {1, 1, 1, 1}, strides[4] = {0};
    miopenDataType_t data_type = miopenHalf;
    MUST(miopenGetTensorDescriptorSize(desc, &num_dims));
    CHECK(1 <= num_dims && num_dims <= 4);
    MUST(miopenGetTensorDescriptor(desc, &data_type, NULL, NULL));
    MUST(miopenGetTensorDescriptor(desc, NULL, dims, NULL));
    MUST(miopenGetTensorDescriptor(desc, NULL, NULL, strides));
    MUST(miopenGetTensorDescriptor(desc, NULL, NULL, NULL));
    CHECK(data_type == miopenFloat && strides[num_dims - 1] == 1);
    return (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2] * (size_t)dims[3];
}

/* Sets one parameter and finds it again; gives its size. */
static size_t check_place(const struct place *at)
{
    const size_t nbytes = size_of(at);
    size_t offset = (size_t)-1;
    float found[MAX_COUNT];
    float *values = device_floats(MAX_COUNT, 1), *copied = device_zeros(sizeof found);
    locate(at, NULL);
    CHECK(count_of(at->desc) * sizeof(float) == nbytes);
    locate(at, &offset);
    set(at, values);
    get(at, NULL);
    get(at, copied);
    MUST(hipMemcpy(found, copied, nbytes, hipMemcpyDeviceToHost));
    CHECK(!memcmp(found, at->w + offset, nbytes));
    MUST(hipMemcpy(found, values, nbytes, hipMemcpyDeviceToHost));
    CHECK(!memcmp(found, at->w + offset, nbytes));
    MUST(hipFree(values));
    MUST(hipFree(copied));
    return nbytes;
}

static void check_mode(miopenHandle_t handle, miopenRNNMode_t mode, int num_gates)
{
    struct place at = {.handle = handle};
    size_t w_nbytes = 0, described = 0, total = 0;
    at.rnn = describe_rnn(HIDDEN, LAYERS, mode, miopenRNNbidirection, NULL);
    at.x_desc = describe(1, INPUT, 0);
    MUST(miopenCreateTensorDescriptor(&at.w_desc));
    MUST(miopenCreateTensorDescriptor(&at.desc));
    MUST(miopenGetRNNParamsSize(handle, at.rnn, at.x_desc, &w_nbytes, miopenFloat));
    MUST(miopenGetRNNParamsDescriptor(handle, at.rnn, at.x_desc, at.w_desc, miopenFloat));
    MUST(miopenGetTensorNumBytes(at.w_desc, &described));
    CHECK(described == w_nbytes);
    MUST(hipHostMalloc((void **)&at.w, w_nbytes, hipHostMallocDefault));
    for (at.is_bias = 0; at.is_bias < 2; at.is_bias++)
        for (at.layer = 0; at.layer < LAYERS * DIRECTIONS; at.layer++)
            for (at.id = 0; at.id < 2 * num_gates; at.id++)
                total += check_place(&at);
    CHECK(total == w_nbytes);
    MUST(hipHostFree(at.w));
    MUST(miopenDestroyTensorDescriptor(at.x_desc));
    MUST(miopenDestroyTensorDescriptor(at.w_desc));
    MUST(miopenDestroyTensorDescriptor(at.desc));
    MUST(miopenDestroyRNNDescriptor(at.rnn));
}

static void check_null_outputs(miopenHandle_t handle)
{
    miopenRNNDescriptor_t rnn = describe_rnn(HIDDEN, LAYERS, miopenGRU, miopenRNNbidirection, NULL);
    int hidden_size = 0, layers = 0;
    miopenRNNMode_t mode = miopenRNNRELU;
    size_t minor = 0;
    MUST(miopenGetVersion(NULL, &minor, NULL));
    MUST(miopenGetRNNDescriptor(rnn, NULL, NULL, NULL, NULL, NULL, &hidden_size, &layers));
    MUST(miopenGetRNNDescriptor(rnn, &mode, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(mode == miopenGRU && hidden_size == HIDDEN && layers == LAYERS);
    MUST(miopenGetRNNDescriptor_V2(rnn, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    MUST(miopenSetAllocator(handle, NULL, NULL, NULL));
    MUST(miopenDestroyRNNDescriptor(rnn));
}

int main(void)
{
    miopenHandle_t handle;
    MUST(miopenCreate(&handle));
    check_mode(handle, miopenRNNRELU, 1);
    check_mode(handle, miopenLSTM, 4);
    check_mode(handle, miopenGRU, 3);
    check_null_outputs(handle);
    MUST(miopenDestroy(handle));
    return exit_status();
}
