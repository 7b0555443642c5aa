/* HIP on CUDA, by the driver alone, which is found at run time. Memory and streams belong to the
 * primary context of device 0, as CuPy's do, so that each can use the other's. */

#include <dlfcn.h>
#include "device.h"

typedef unsigned long long address; /* CUdeviceptr */

/* What is called of the driver: the function's name with its version, and its parameters. */
#define EACH_FUNCTION(X)                                              \
    X(cuInit, (unsigned int))                                         \
    X(cuDeviceGetCount, (int *))                                      \
    X(cuDeviceGet, (int *, int))                                      \
    X(cuDeviceGetName, (char *, int, int))                            \
    X(cuDeviceGetAttribute, (int *, int, int))                        \
    X(cuDevicePrimaryCtxRetain, (void **, int))                       \
    X(cuCtxSetCurrent, (void *))                                      \
    X(cuCtxSynchronize, (void))                                       \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                          \
    X(cuMemAlloc_v2, (address *, size_t))                             \
    X(cuMemFree_v2, (address))                                        \
    X(cuMemHostAlloc, (void **, size_t, unsigned int))                \
    X(cuMemFreeHost, (void *))                                        \
    X(cuMemcpy, (address, address, size_t))                           \
    X(cuMemcpyAsync, (address, address, size_t, hipStream_t))         \
    X(cuMemsetD8Async, (address, unsigned char, size_t, hipStream_t)) \
    X(cuStreamCreate, (hipStream_t *, unsigned int))                  \
    X(cuStreamDestroy_v2, (hipStream_t))                              \
    X(cuStreamSynchronize, (hipStream_t))                             \
    X(cuStreamQuery, (hipStream_t))                                   \
    X(cuStreamWaitEvent, (hipStream_t, hipEvent_t, unsigned int))     \
    X(cuEventCreate, (hipEvent_t *, unsigned int))                    \
    X(cuEventDestroy_v2, (hipEvent_t))                                \
    X(cuEventRecord, (hipEvent_t, hipStream_t))                       \
    X(cuEventSynchronize, (hipEvent_t))                               \
    X(cuEventQuery, (hipEvent_t))                                     \
    X(cuEventElapsedTime, (float *, hipEvent_t, hipEvent_t))

#define DECLARE(name, parameters) int(*name) parameters;
static struct {
    EACH_FUNCTION(DECLARE)
} driver;
static void *context;
static int device;

/* Numbers of CUdevice_attribute. */
enum {
    MAX_THREADS_PER_BLOCK = 1,
    MAX_SHARED_MEMORY_PER_BLOCK = 8,
    WARP_SIZE = 10,
    MAX_REGISTERS_PER_BLOCK = 12,
    CLOCK_RATE = 13,
    MULTIPROCESSOR_COUNT = 16,
    MEMORY_CLOCK_RATE = 36,
    MEMORY_BUS_WIDTH = 37,
    L2_CACHE_SIZE = 38,
    COMPUTE_CAPABILITY_MAJOR = 75,
    COMPUTE_CAPABILITY_MINOR = 76
};
enum { PORTABLE = 1 }; /* host memory: pinned for every context */

/* HIP's numbers are CUDA's; those that hipError_t does not have are unknown errors. */
static hipError_t translate(int result)
{
    switch (result) {
    case hipSuccess:
    case hipErrorInvalidValue:
    case hipErrorOutOfMemory:
    case hipErrorNotInitialized:
    case hipErrorDeinitialized:
    case hipErrorNoDevice:
    case hipErrorInvalidDevice:
    case hipErrorInvalidContext:
    case hipErrorInvalidHandle:
    case hipErrorNotFound:
    case hipErrorNotReady:
    case hipErrorIllegalAddress:
    case hipErrorLaunchFailure:
    case hipErrorNotSupported: return (hipError_t)result;
    }
    return hipErrorUnknown;
}

/* A thread is born without a context. */
static bool bind(void) { return driver.cuCtxSetCurrent(context) == 0; }

/* The driver's answer, asked with the context current. */
#define CALL(function, ...) \
    (bind() ? translate(driver.function(__VA_ARGS__)) : hipErrorInvalidContext)

static bool find_function(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found); /* ISO C has no cast from data to function pointer */
    return found;
}

#define FIND(name, parameters)                        \
    if (!find_function(library, #name, &driver.name)) \
        return "libcuda.so.1 has no " #name;

const char *cuda_start(void)
{
    int count = 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return "libcuda.so.1, the NVIDIA driver, cannot be loaded";
    EACH_FUNCTION(FIND)
    if (driver.cuInit(0))
        return "the NVIDIA driver does not start";
    if (driver.cuDeviceGetCount(&count) || !count)
        return "the NVIDIA driver sees no device";
    if (driver.cuDeviceGet(&device, 0) || driver.cuDevicePrimaryCtxRetain(&context, device))
        return "the first NVIDIA device cannot be used";
    return NULL;
}

static int attribute(int number)
{
    int value = 0;
    driver.cuDeviceGetAttribute(&value, number, device);
    return value;
}

static hipError_t memory_info(size_t *free_nbytes, size_t *total_nbytes)
{
    return CALL(cuMemGetInfo_v2, free_nbytes, total_nbytes);
}

static hipError_t describe(hipDeviceProp_t *properties)
{
    size_t available;
    driver.cuDeviceGetName(properties->name, (int)sizeof properties->name, device);
    strcpy(properties->gcnArchName, "cuda");
    properties->sharedMemPerBlock = (size_t)attribute(MAX_SHARED_MEMORY_PER_BLOCK);
    properties->regsPerBlock = attribute(MAX_REGISTERS_PER_BLOCK);
    properties->warpSize = attribute(WARP_SIZE);
    properties->maxThreadsPerBlock = attribute(MAX_THREADS_PER_BLOCK);
    properties->clockRate = attribute(CLOCK_RATE);
    properties->memoryClockRate = attribute(MEMORY_CLOCK_RATE);
    properties->memoryBusWidth = attribute(MEMORY_BUS_WIDTH);
    properties->major = attribute(COMPUTE_CAPABILITY_MAJOR);
    properties->minor = attribute(COMPUTE_CAPABILITY_MINOR);
    properties->multiProcessorCount = attribute(MULTIPROCESSOR_COUNT);
    properties->l2CacheSize = attribute(L2_CACHE_SIZE);
    return memory_info(&available, &properties->totalGlobalMem);
}

static hipError_t synchronize(void)
{
    return bind() ? translate(driver.cuCtxSynchronize()) : hipErrorInvalidContext;
}

static hipError_t allocate(void **pointer, size_t nbytes)
{
    address allocated;
    hipError_t error = CALL(cuMemAlloc_v2, &allocated, nbytes);
    if (error == hipSuccess)
        *pointer = (void *)(uintptr_t)allocated;
    return error;
}

static hipError_t release(void *pointer) { return CALL(cuMemFree_v2, (uintptr_t)pointer); }

static hipError_t allocate_host(void **pointer, size_t nbytes)
{
    return CALL(cuMemHostAlloc, pointer, nbytes, PORTABLE);
}

static hipError_t release_host(void *pointer) { return CALL(cuMemFreeHost, pointer); }

static hipError_t copy(void *destination, const void *source, size_t nbytes)
{
    return CALL(cuMemcpy, (uintptr_t)destination, (uintptr_t)source, nbytes);
}

static hipError_t copy_async(void *destination, const void *source, size_t nbytes,
                             hipStream_t stream)
{
    return CALL(cuMemcpyAsync, (uintptr_t)destination, (uintptr_t)source, nbytes, stream);
}

static hipError_t fill(void *destination, unsigned char value, size_t nbytes, hipStream_t stream)
{
    return CALL(cuMemsetD8Async, (uintptr_t)destination, value, nbytes, stream);
}

static hipError_t create_stream(hipStream_t *stream, unsigned int flags)
{
    return CALL(cuStreamCreate, stream, flags);
}

static hipError_t destroy_stream(hipStream_t stream) { return CALL(cuStreamDestroy_v2, stream); }

static hipError_t synchronize_stream(hipStream_t stream)
{
    return CALL(cuStreamSynchronize, stream);
}

static hipError_t query_stream(hipStream_t stream) { return CALL(cuStreamQuery, stream); }

static hipError_t wait_event(hipStream_t stream, hipEvent_t event)
{
    return CALL(cuStreamWaitEvent, stream, event, 0);
}

static hipError_t create_event(hipEvent_t *event, unsigned int flags)
{
    return CALL(cuEventCreate, event, flags);
}

static hipError_t destroy_event(hipEvent_t event) { return CALL(cuEventDestroy_v2, event); }

static hipError_t record_event(hipEvent_t event, hipStream_t stream)
{
    return CALL(cuEventRecord, event, stream);
}

static hipError_t synchronize_event(hipEvent_t event) { return CALL(cuEventSynchronize, event); }

static hipError_t query_event(hipEvent_t event) { return CALL(cuEventQuery, event); }

static hipError_t elapsed_time(float *milliseconds, hipEvent_t start, hipEvent_t stop)
{
    return CALL(cuEventElapsedTime, milliseconds, start, stop);
}

const struct device cuda_device = {
    .describe = describe,
    .memory_info = memory_info,
    .synchronize = synchronize,
    .allocate = allocate,
    .release = release,
    .allocate_host = allocate_host,
    .release_host = release_host,
    .copy = copy,
    .copy_async = copy_async,
    .fill = fill,
    .create_stream = create_stream,
    .destroy_stream = destroy_stream,
    .synchronize_stream = synchronize_stream,
    .query_stream = query_stream,
    .wait_event = wait_event,
    .create_event = create_event,
    .destroy_event = destroy_event,
    .record_event = record_event,
    .synchronize_event = synchronize_event,
    .query_event = query_event,
    .elapsed_time = elapsed_time,
};
