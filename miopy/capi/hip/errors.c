/* What HIP's failures are called, and the last one of each thread. */

#include "device.h"

static _Thread_local hipError_t last_error;

struct description {
    hipError_t error;
    const char *name;
    const char *phrase;
};

#define DESCRIBE(error, phrase) {error, #error, phrase}

static const struct description descriptions[] = {
    DESCRIBE(hipSuccess, "no error"),
    DESCRIBE(hipErrorInvalidValue, "invalid argument"),
    DESCRIBE(hipErrorOutOfMemory, "out of memory"),
    DESCRIBE(hipErrorNotInitialized, "the driver is not initialized"),
    DESCRIBE(hipErrorDeinitialized, "the driver is shutting down"),
    DESCRIBE(hipErrorInvalidDevicePointer, "not a live device pointer"),
    DESCRIBE(hipErrorInvalidMemcpyDirection, "invalid direction of a copy"),
    DESCRIBE(hipErrorInsufficientDriver, "the driver is too old"),
    DESCRIBE(hipErrorNoDevice, "no usable device"),
    DESCRIBE(hipErrorInvalidDevice, "no such device"),
    DESCRIBE(hipErrorInvalidContext, "invalid device context"),
    DESCRIBE(hipErrorInvalidHandle, "not a live stream or event"),
    DESCRIBE(hipErrorNotFound, "not found"),
    DESCRIBE(hipErrorNotReady, "not ready yet"),
    DESCRIBE(hipErrorIllegalAddress, "illegal memory access"),
    DESCRIBE(hipErrorLaunchFailure, "a kernel failed"),
    DESCRIBE(hipErrorNotSupported, "not supported"),
    DESCRIBE(hipErrorUnknown, "unknown error"), /* last: it stands for all others */
};

static const struct description *describe(hipError_t error)
{
    const struct description *found = descriptions;
    while (found->error != error && found->error != hipErrorUnknown)
        found++;
    return found;
}

const char *hipGetErrorName(hipError_t error) { return describe(error)->name; }

const char *hipGetErrorString(hipError_t error) { return describe(error)->phrase; }

hipError_t remember(hipError_t error)
{
    if (error != hipSuccess)
        last_error = error;
    return error;
}

hipError_t hipPeekAtLastError(void) { return last_error; }

hipError_t hipGetLastError(void)
{
    hipError_t error = last_error;
    last_error = hipSuccess;
    return error;
}
