/* A stand-in for NVIDIA's driver, for testing without one: one device on host memory. Its device
 * pointers are addresses of nothing, and every call wants the context to be current. */

#define _POSIX_C_SOURCE 200809L

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, BAD_HANDLE = 400 };

typedef unsigned long long address;

static const address DEVICE = (address)1 << 56; /* no address of a process is that high */
static _Thread_local void *current;
static int context;

struct event {
    unsigned int flags;
    double milliseconds;
};

#define NEED_CONTEXT         \
    if (current != &context) \
    return INVALID_CONTEXT

static void *memory_of(address pointer) { return (void *)(uintptr_t)(pointer & ~DEVICE); }

int cuInit(unsigned int flags) { return flags ? INVALID_VALUE : SUCCESS; }

int cuDeviceGetCount(int *count)
{
    *count = getenv("STAND_IN_DEVICES") ? atoi(getenv("STAND_IN_DEVICES")) : 1;
    return SUCCESS;
}

int cuDeviceGet(int *device, int number)
{
    *device = number + 40;
    return SUCCESS;
}

int cuDeviceGetName(char *name, int nbytes, int device)
{
    snprintf(name, (size_t)nbytes, "stand-in %d", device);
    return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = 100 + attribute;
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **retained, int device)
{
    *retained = &context;
    return device == 40 ? SUCCESS : INVALID_VALUE;
}

int cuCtxSetCurrent(void *chosen)
{
    current = chosen;
    return SUCCESS;
}

int cuCtxSynchronize(void)
{
    NEED_CONTEXT;
    return SUCCESS;
}

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    NEED_CONTEXT;
    *available = 1 << 20;
    *total = 1 << 30;
    return SUCCESS;
}

int cuMemAlloc_v2(address *pointer, size_t nbytes)
{
    void *memory;
    NEED_CONTEXT;
    if (nbytes > (size_t)1 << 30 || posix_memalign(&memory, 512, nbytes))
        return OUT_OF_MEMORY;
    memset(memory, 0, nbytes);
    *pointer = (address)(uintptr_t)memory | DEVICE;
    return SUCCESS;
}

int cuMemFree_v2(address pointer)
{
    NEED_CONTEXT;
    free(memory_of(pointer));
    return SUCCESS;
}

int cuMemHostAlloc(void **pointer, size_t nbytes, unsigned int flags)
{
    NEED_CONTEXT;
    *pointer = malloc(nbytes);
    return flags == 1 ? SUCCESS : INVALID_VALUE;
}

int cuMemFreeHost(void *pointer)
{
    NEED_CONTEXT;
    free(pointer);
    return SUCCESS;
}

int cuMemcpy(address destination, address source, size_t nbytes)
{
    NEED_CONTEXT;
    memmove(memory_of(destination), memory_of(source), nbytes);
    return SUCCESS;
}

int cuMemcpyAsync(address destination, address source, size_t nbytes, void *stream)
{
    (void)stream;
    return cuMemcpy(destination, source, nbytes);
}

int cuMemsetD8Async(address destination, unsigned char value, size_t nbytes, void *stream)
{
    (void)stream;
    NEED_CONTEXT;
    memset(memory_of(destination), value, nbytes);
    return SUCCESS;
}

int cuStreamCreate(void **stream, unsigned int flags)
{
    NEED_CONTEXT;
    *stream = malloc(1);
    return flags <= 1 ? SUCCESS : INVALID_VALUE;
}

int cuStreamDestroy_v2(void *stream)
{
    NEED_CONTEXT;
    free(stream);
    return SUCCESS;
}

int cuStreamSynchronize(void *stream)
{
    (void)stream;
    NEED_CONTEXT;
    return SUCCESS;
}

int cuStreamQuery(void *stream) { return cuStreamSynchronize(stream); }

int cuStreamWaitEvent(void *stream, void *event, unsigned int flags)
{
    (void)event;
    return flags ? INVALID_VALUE : cuStreamSynchronize(stream);
}

int cuEventCreate(struct event **event, unsigned int flags)
{
    NEED_CONTEXT;
    *event = malloc(sizeof **event);
    **event = (struct event){flags, -1};
    return SUCCESS;
}

int cuEventDestroy_v2(struct event *event)
{
    NEED_CONTEXT;
    free(event);
    return SUCCESS;
}

int cuEventRecord(struct event *event, void *stream)
{
    struct timespec now;
    (void)stream;
    NEED_CONTEXT;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    return SUCCESS;
}

int cuEventSynchronize(struct event *event) { return cuStreamSynchronize(event); }

int cuEventQuery(struct event *event) { return cuStreamSynchronize(event); }

int cuEventElapsedTime(float *milliseconds, struct event *start, struct event *stop)
{
    const unsigned int disable_timing = 2;
    NEED_CONTEXT;
    if ((start->flags | stop->flags) & disable_timing)
        return BAD_HANDLE;
    if (start->milliseconds < 0 || stop->milliseconds < 0)
        return BAD_HANDLE;
    *milliseconds = (float)(stop->milliseconds - start->milliseconds);
    return SUCCESS;
}
