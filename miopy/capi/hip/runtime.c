/* The choice of the device, and the HIP functions about it. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"

static const struct device *chosen;
static pthread_once_t choice = PTHREAD_ONCE_INIT;

/* `auto` is the host: it must be where miopy computes, and whether miopy can use CUDA is for Python
 * to say, which allocating memory must not start. */
static void choose(void)
{
    const char *name = getenv("MIOPY_BACKEND");
    const char *reason = NULL;
    if (!name || !*name || !strcmp(name, "auto") || !strcmp(name, "host")) {
        chosen = &host_device;
    } else if (strcmp(name, "cuda")) {
        reason = "there is no backend of that name; known are auto, host, cuda";
    } else {
        reason = cuda_start();
        chosen = reason ? NULL : &cuda_device;
    }
    if (reason)
        fprintf(stderr, "libamdhip64: MIOPY_BACKEND cannot be '%s': %s\n", name, reason);
}

const struct device *current_device(void)
{
    pthread_once(&choice, choose);
    return chosen;
}

hipError_t hipInit(unsigned int flags)
{
    if (flags)
        return remember(hipErrorInvalidValue);
    return remember(current_device() ? hipSuccess : hipErrorNoDevice);
}

/* Whether `device` exists, and there is somewhere to put the answer. */
static hipError_t check_query(const void *output, int device)
{
    if (!current_device())
        return hipErrorNoDevice;
    if (!output)
        return hipErrorInvalidValue;
    return device == 0 ? hipSuccess : hipErrorInvalidDevice;
}

hipError_t hipGetDeviceCount(int *count)
{
    hipError_t error = check_query(count, 0);
    if (count)
        *count = error == hipSuccess;
    return remember(error);
}

hipError_t hipGetDevice(int *device)
{
    hipError_t error = check_query(device, 0);
    if (error == hipSuccess)
        *device = 0;
    return remember(error);
}

hipError_t hipSetDevice(int device) { return remember(check_query(&device, device)); }

hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device)
{
    hipError_t error = check_query(properties, device);
    if (error != hipSuccess)
        return remember(error);
    *properties = (hipDeviceProp_t){.name = ""};
    return remember(current_device()->describe(properties));
}

hipError_t hipRuntimeGetVersion(int *version)
{
    if (!version)
        return remember(hipErrorInvalidValue);
    *version = HIP_VERSION;
    return hipSuccess;
}

hipError_t hipDeviceSynchronize(void)
{
    const struct device *device = current_device();
    return remember(device ? device->synchronize() : hipErrorNoDevice);
}
