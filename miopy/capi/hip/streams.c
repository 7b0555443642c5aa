/* HIP's streams and events. */

#include "device.h"
#include "registry.h"

/* The default streams, CUDA's and HIP's alike: NULL, 1 the legacy one and 2 the thread's own. */
static bool is_default(hipStream_t stream) { return (uintptr_t)stream <= 2; }

bool is_stream(hipStream_t stream)
{
    return is_default(stream) || registry_find(stream, STREAM, NULL);
}

static hipError_t check_stream(hipStream_t stream)
{
    if (!current_device())
        return hipErrorNoDevice;
    return is_stream(stream) ? hipSuccess : hipErrorInvalidHandle;
}

static hipError_t check_event(hipEvent_t event)
{
    if (!current_device())
        return hipErrorNoDevice;
    return registry_find(event, EVENT, NULL) ? hipSuccess : hipErrorInvalidHandle;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags)
{
    const struct device *device = current_device();
    hipStream_t created;
    if (!device)
        return remember(hipErrorNoDevice);
    if (!stream || flags > hipStreamNonBlocking)
        return remember(hipErrorInvalidValue);
    hipError_t error = device->create_stream(&created, flags);
    if (error != hipSuccess)
        return remember(error);
    if (!registry_add(created, STREAM, 0)) {
        device->destroy_stream(created);
        return remember(hipErrorOutOfMemory);
    }
    *stream = created;
    return hipSuccess;
}

hipError_t hipStreamCreate(hipStream_t *stream)
{
    return hipStreamCreateWithFlags(stream, hipStreamDefault);
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    const struct device *device = current_device();
    if (!device)
        return remember(hipErrorNoDevice);
    if (!registry_remove(stream, STREAM))
        return remember(hipErrorInvalidHandle);
    return remember(device->destroy_stream(stream));
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    hipError_t error = check_stream(stream);
    return remember(error ? error : current_device()->synchronize_stream(stream));
}

hipError_t hipStreamQuery(hipStream_t stream)
{
    hipError_t error = check_stream(stream);
    return remember(error ? error : current_device()->query_stream(stream));
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags)
{
    hipError_t error = check_stream(stream);
    if (!error)
        error = check_event(event);
    if (!error && flags)
        error = hipErrorInvalidValue;
    return remember(error ? error : current_device()->wait_event(stream, event));
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned int flags)
{
    const struct device *device = current_device();
    hipEvent_t created;
    if (!device)
        return remember(hipErrorNoDevice);
    if (!event || flags & ~(unsigned int)(hipEventBlockingSync | hipEventDisableTiming))
        return remember(hipErrorInvalidValue);
    hipError_t error = device->create_event(&created, flags);
    if (error != hipSuccess)
        return remember(error);
    if (!registry_add(created, EVENT, 0)) {
        device->destroy_event(created);
        return remember(hipErrorOutOfMemory);
    }
    *event = created;
    return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t *event)
{
    return hipEventCreateWithFlags(event, hipEventDefault);
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    const struct device *device = current_device();
    if (!device)
        return remember(hipErrorNoDevice);
    if (!registry_remove(event, EVENT))
        return remember(hipErrorInvalidHandle);
    return remember(device->destroy_event(event));
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    hipError_t error = check_event(event);
    if (!error)
        error = check_stream(stream);
    return remember(error ? error : current_device()->record_event(event, stream));
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    hipError_t error = check_event(event);
    return remember(error ? error : current_device()->synchronize_event(event));
}

hipError_t hipEventQuery(hipEvent_t event)
{
    hipError_t error = check_event(event);
    return remember(error ? error : current_device()->query_event(event));
}

hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop)
{
    hipError_t error = check_event(start);
    if (!error)
        error = check_event(stop);
    if (!error && !milliseconds)
        error = hipErrorInvalidValue;
    return remember(error ? error : current_device()->elapsed_time(milliseconds, start, stop));
}
