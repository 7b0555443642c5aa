/* What the HIP functions ask of the kind of memory they run on. Arguments are valid: pointers are
 * not NULL, sizes not 0, streams and events alive. */

#ifndef MIOPY_HIP_DEVICE_H
#define MIOPY_HIP_DEVICE_H

#include <stdbool.h>

#include <hip/hip_runtime_api.h>

struct device {
    hipError_t (*describe)(hipDeviceProp_t *properties); /* zeroed before */
    hipError_t (*memory_info)(size_t *free_nbytes, size_t *total_nbytes);
    hipError_t (*synchronize)(void);

    hipError_t (*allocate)(void **pointer, size_t nbytes);
    hipError_t (*release)(void *pointer);
    hipError_t (*allocate_host)(void **pointer, size_t nbytes);
    hipError_t (*release_host)(void *pointer);
    hipError_t (*copy)(void *destination, const void *source, size_t nbytes);
    hipError_t (*copy_async)(void *destination, const void *source, size_t nbytes,
                             hipStream_t stream);
    hipError_t (*fill)(void *destination, unsigned char value, size_t nbytes, hipStream_t stream);

    hipError_t (*create_stream)(hipStream_t *stream, unsigned int flags);
    hipError_t (*destroy_stream)(hipStream_t stream);
    hipError_t (*synchronize_stream)(hipStream_t stream);
    hipError_t (*query_stream)(hipStream_t stream);
    hipError_t (*wait_event)(hipStream_t stream, hipEvent_t event);

    hipError_t (*create_event)(hipEvent_t *event, unsigned int flags);
    hipError_t (*destroy_event)(hipEvent_t event);
    hipError_t (*record_event)(hipEvent_t event, hipStream_t stream);
    hipError_t (*synchronize_event)(hipEvent_t event);
    hipError_t (*query_event)(hipEvent_t event);
    hipError_t (*elapsed_time)(float *milliseconds, hipEvent_t start, hipEvent_t stop);
};

extern const struct device host_device;
extern const struct device cuda_device;

/* Load and start the CUDA driver. NULL, or why CUDA cannot be used. */
const char *cuda_start(void);

/* The device that MIOPY_BACKEND names, decided by the first call; NULL if it is missing. */
const struct device *current_device(void);

/* Whether it is a default stream or alive. */
bool is_stream(hipStream_t stream);

/* `error`, which the thread's hipGetLastError will give if it is a failure. */
hipError_t remember(hipError_t error);

#endif
