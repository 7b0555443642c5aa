/* HIP on plain memory: everything is done when the call returns. */

#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "device.h"

enum { ALIGNMENT = 256 };

struct ihipStream_t {
    unsigned int flags;
};

struct ihipEvent_t {
    bool timed;
    bool recorded;
    double milliseconds;
};

static hipError_t memory_info(size_t *free_nbytes, size_t *total_nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *free_nbytes = page * (size_t)sysconf(_SC_AVPHYS_PAGES);
    *total_nbytes = page * (size_t)sysconf(_SC_PHYS_PAGES);
    return hipSuccess;
}

static hipError_t describe(hipDeviceProp_t *properties)
{
    size_t available;
    strcpy(properties->name, "CPU");
    strcpy(properties->gcnArchName, "host");
    properties->warpSize = 1;
    properties->maxThreadsPerBlock = 1;
    properties->multiProcessorCount = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return memory_info(&available, &properties->totalGlobalMem);
}

static hipError_t synchronize(void) { return hipSuccess; }

static hipError_t allocate(void **pointer, size_t nbytes)
{
    void *memory;
    if (posix_memalign(&memory, ALIGNMENT, nbytes))
        return hipErrorOutOfMemory;
    *pointer = memory;
    return hipSuccess;
}

static hipError_t release(void *pointer)
{
    free(pointer);
    return hipSuccess;
}

static hipError_t copy(void *destination, const void *source, size_t nbytes)
{
    memmove(destination, source, nbytes);
    return hipSuccess;
}

static hipError_t copy_async(void *destination, const void *source, size_t nbytes,
                             hipStream_t stream)
{
    (void)stream;
    return copy(destination, source, nbytes);
}

static hipError_t fill(void *destination, unsigned char value, size_t nbytes, hipStream_t stream)
{
    (void)stream;
    memset(destination, value, nbytes);
    return hipSuccess;
}

static hipError_t create_stream(hipStream_t *stream, unsigned int flags)
{
    hipStream_t created = malloc(sizeof *created);
    if (!created)
        return hipErrorOutOfMemory;
    created->flags = flags;
    *stream = created;
    return hipSuccess;
}

static hipError_t destroy_stream(hipStream_t stream) { return release(stream); }

static hipError_t synchronize_stream(hipStream_t stream)
{
    (void)stream;
    return hipSuccess;
}

static hipError_t wait_event(hipStream_t stream, hipEvent_t event)
{
    (void)stream;
    (void)event;
    return hipSuccess;
}

static hipError_t create_event(hipEvent_t *event, unsigned int flags)
{
    hipEvent_t created = malloc(sizeof *created);
    if (!created)
        return hipErrorOutOfMemory;
    *created = (struct ihipEvent_t){.timed = !(flags & hipEventDisableTiming)};
    *event = created;
    return hipSuccess;
}

static hipError_t destroy_event(hipEvent_t event) { return release(event); }

static hipError_t record_event(hipEvent_t event, hipStream_t stream)
{
    struct timespec now;
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    event->recorded = true;
    return hipSuccess;
}

static hipError_t synchronize_event(hipEvent_t event)
{
    (void)event;
    return hipSuccess;
}

static hipError_t elapsed_time(float *milliseconds, hipEvent_t start, hipEvent_t stop)
{
    if (!start->timed || !start->recorded || !stop->timed || !stop->recorded)
        return hipErrorInvalidHandle;
    *milliseconds = (float)(stop->milliseconds - start->milliseconds);
    return hipSuccess;
}

const struct device host_device = {
    .describe = describe,
    .memory_info = memory_info,
    .synchronize = synchronize,
    .allocate = allocate,
    .release = release,
    .allocate_host = allocate,
    .release_host = release,
    .copy = copy,
    .copy_async = copy_async,
    .fill = fill,
    .create_stream = create_stream,
    .destroy_stream = destroy_stream,
    .synchronize_stream = synchronize_stream,
    .query_stream = synchronize_stream,
    .wait_event = wait_event,
    .create_event = create_event,
    .destroy_event = destroy_event,
    .record_event = record_event,
    .synchronize_event = synchronize_event,
    .query_event = synchronize_event,
    .elapsed_time = elapsed_time,
};
