/* What the MIOpen clients share: memory filled with numbers, descriptors in one call, and a dump of
 * results for comparison with the same calls made from Python. Any failure ends the program. */

#ifndef TESTS_CLIENT_H
#define TESTS_CLIENT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hip/hip_runtime_api.h>
#include <miopen/miopen.h>

#include "check.h"

#define MUST(call)                                                     \
    do {                                                               \
        int must_status = (int)(call);                                 \
        if (must_status) {                                             \
            report_failure(__FILE__, __LINE__, #call, must_status, 0); \
            exit(2);                                                   \
        }                                                              \
    } while (0)

/* Where dump() writes; opened by main from its argument. */
static FILE *results;

static inline void open_results(int argc, char **argv)
{
    results = argc == 2 ? fopen(argv[1], "wb") : NULL;
    if (!results) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        exit(2);
    }
}

/* Device memory of `nbytes`, zeroed; at least one byte, so that it is never NULL. */
static inline void *device_zeros(size_t nbytes)
{
    void *pointer = NULL;
    MUST(hipMalloc(&pointer, nbytes ? nbytes : 1));
    MUST(hipMemset(pointer, 0, nbytes));
    return pointer;
}

/* `count` floats in host memory from -scale to scale, always the same. */
static inline float *host_floats(size_t count, float scale)
{
    static uint32_t state = 1;
    float *values = (float *)malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = scale * ((float)(state >> 8) / 8388608.0f - 1.0f);
    }
    return values;
}

static inline float *device_floats(size_t count, float scale)
{
    float *values = host_floats(count, scale);
    float *pointer = (float *)device_zeros(count * sizeof *values);
    MUST(hipMemcpy(pointer, values, count * sizeof *values, hipMemcpyHostToDevice));
    free(values);
    return pointer;
}

/* A name, a number of bytes, and the bytes, which are in device memory. */
static inline void dump(const char *name, const void *pointer, size_t nbytes)
{
    void *bytes = malloc(nbytes ? nbytes : 1);
    MUST(hipMemcpy(bytes, pointer, nbytes, hipMemcpyDeviceToHost));
    fprintf(results, "%s %zu\n", name, nbytes);
    fwrite(bytes, 1, nbytes, results);
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
