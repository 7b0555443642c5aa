/* What the MIOpen clients share: device memory filled with numbers, descriptors in one call, and a
 * dump of device memory. Any failure ends the program. */

#ifndef TESTS_CLIENT_H
#define TESTS_CLIENT_H

#include <string.h>

#include <hip/hip_runtime_api.h>
#include <miopen/miopen.h>

#include "results.h"

/* Device memory of `nbytes`, zeroed; at least one byte, so that it is never NULL. */
static inline void *device_zeros(size_t nbytes)
{
    void *pointer = NULL;
    MUST(hipMalloc(&pointer, nbytes ? nbytes : 1));
    MUST(hipMemset(pointer, 0, nbytes));
    return pointer;
}

static inline float *device_floats(size_t count, float scale)
{
    float *values = host_floats(count, scale);
    float *pointer = (float *)device_zeros(count * sizeof *values);
    MUST(hipMemcpy(pointer, values, count * sizeof *values, hipMemcpyHostToDevice));
    free(values);
    return pointer;
}

/* Bytes of device memory as a result. */
static inline void dump(const char *name, const void *pointer, size_t nbytes)
{
    void *bytes = malloc(nbytes ? nbytes : 1);
    MUST(hipMemcpy(bytes, pointer, nbytes, hipMemcpyDeviceToHost));
    write_result(name, bytes, nbytes);
    free(bytes);
}

/* A packed tensor of floats; a last dimension of 0 means that there is none. */
static inline miopenTensorDescriptor_t describe(int first, int second, int third)
{
    miopenTensorDescriptor_t desc;
    int dims[3] = {first, second, third};
    MUST(miopenCreateTensorDescriptor(&desc));
    MUST(miopenSetTensorDescriptor(desc, miopenFloat, third ? 3 : second ? 2 : 1, dims, NULL));
    return desc;
}

static inline miopenRNNDescriptor_t describe_rnn(int hidden_size, int num_layers,
                                                 miopenRNNMode_t mode,
                                                 miopenRNNDirectionMode_t direction,
                                                 miopenDropoutDescriptor_t dropout)
{
    miopenRNNDescriptor_t desc;
    MUST(miopenCreateRNNDescriptor(&desc));
    if (dropout)
        MUST(miopenSetRNNDescriptor_V2(desc, hidden_size, num_layers, dropout, miopenRNNlinear,
                                       direction, mode, miopenRNNwithBias, miopenRNNdefault,
                                       miopenFloat));
    else
        MUST(miopenSetRNNDescriptor(desc, hidden_size, num_layers, miopenRNNlinear, direction, mode,
                                    miopenRNNwithBias, miopenRNNdefault, miopenFloat));
    return desc;
}

#endif
