/* HIP's memory functions. */

#include "device.h"
#include "registry.h"

typedef hipError_t (*allocate_function)(void **pointer, size_t nbytes);
typedef hipError_t (*release_function)(void *pointer);

static hipError_t allocate(allocate_function allocate, release_function release, enum kind kind,
                           void **pointer, size_t nbytes)
{
    void *memory = NULL;
    if (nbytes) {
        hipError_t error = allocate(&memory, nbytes);
        if (error != hipSuccess)
            return error;
        if (!registry_add(memory, kind, nbytes)) {
            release(memory);
            return hipErrorOutOfMemory;
        }
    }
    *pointer = memory;
    return hipSuccess;
}

hipError_t hipMalloc(void **pointer, size_t nbytes)
{
    const struct device *device = current_device();
    if (!device)
        return remember(hipErrorNoDevice);
    if (!pointer)
        return remember(hipErrorInvalidValue);
    return remember(allocate(device->allocate, device->release, DEVICE_MEMORY, pointer, nbytes));
}

hipError_t hipHostMalloc(void **pointer, size_t nbytes, unsigned int flags)
{
    const struct device *device = current_device();
    (void)flags; /* they choose among kinds of host memory of which there is one */
    if (!device)
        return remember(hipErrorNoDevice);
    if (!pointer)
        return remember(hipErrorInvalidValue);
    return remember(
        allocate(device->allocate_host, device->release_host, HOST_MEMORY, pointer, nbytes));
}

hipError_t hipFree(void *pointer)
{
    const struct device *device = current_device();
    if (!device)
        return remember(hipErrorNoDevice);
    if (!pointer)
        return hipSuccess;
    if (!registry_remove(pointer, DEVICE_MEMORY))
        return remember(hipErrorInvalidDevicePointer);
    return remember(device->release(pointer));
}

hipError_t hipHostFree(void *pointer)
{
    const struct device *device = current_device();
    if (!device)
        return remember(hipErrorNoDevice);
    if (!pointer)
        return hipSuccess;
    if (!registry_remove(pointer, HOST_MEMORY))
        return remember(hipErrorInvalidValue);
    return remember(device->release_host(pointer));
}

hipError_t hipMemGetInfo(size_t *free_nbytes, size_t *total_nbytes)
{
    const struct device *device = current_device();
    size_t available, total;
    hipError_t error = device ? device->memory_info(&available, &total) : hipErrorNoDevice;
    if (error != hipSuccess)
        return remember(error);
    if (free_nbytes)
        *free_nbytes = available;
    if (total_nbytes)
        *total_nbytes = total;
    return hipSuccess;
}

hipError_t hipMemPtrGetInfo(void *pointer, size_t *nbytes)
{
    bool found = nbytes && registry_find(pointer, DEVICE_MEMORY, nbytes);
    return remember(found ? hipSuccess : hipErrorInvalidValue);
}

static hipError_t check_copy(const void *destination, const void *source, size_t nbytes,
                             hipMemcpyKind kind)
{
    if (!current_device())
        return hipErrorNoDevice;
    if ((unsigned int)kind > hipMemcpyDefault)
        return hipErrorInvalidMemcpyDirection;
    return !nbytes || (destination && source) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipMemcpy(void *destination, const void *source, size_t nbytes, hipMemcpyKind kind)
{
    hipError_t error = check_copy(destination, source, nbytes, kind);
    if (error != hipSuccess || !nbytes)
        return remember(error);
    return remember(current_device()->copy(destination, source, nbytes));
}

hipError_t hipMemcpyAsync(void *destination, const void *source, size_t nbytes, hipMemcpyKind kind,
                          hipStream_t stream)
{
    hipError_t error = check_copy(destination, source, nbytes, kind);
    if (error == hipSuccess && !is_stream(stream))
        error = hipErrorInvalidHandle;
    if (error != hipSuccess || !nbytes)
        return remember(error);
    return remember(current_device()->copy_async(destination, source, nbytes, stream));
}

hipError_t hipMemsetAsync(void *destination, int value, size_t nbytes, hipStream_t stream)
{
    const struct device *device = current_device();
    if (!device)
        return remember(hipErrorNoDevice);
    if (!is_stream(stream))
        return remember(hipErrorInvalidHandle);
    if (!nbytes)
        return hipSuccess;
    if (!destination)
        return remember(hipErrorInvalidValue);
    return remember(device->fill(destination, (unsigned char)value, nbytes, stream));
}

hipError_t hipMemset(void *destination, int value, size_t nbytes)
{
    return hipMemsetAsync(destination, value, nbytes, NULL);
}
