/* The part of HIP's host API that programs need around MIOpen: memory, streams, events and the
 * device. It runs on plain memory, or on CUDA where MIOPY_BACKEND=cuda; a device pointer of the
 * first is a host pointer, and every call there is synchronous.
 *
 * Every function but two returns a hipError_t. A failure leaves its outputs unwritten and is kept
 * for the thread's hipGetLastError. Sizes are in bytes. A stream may be NULL, the default stream.
 */

#ifndef HIP_HIP_RUNTIME_API_H
#define HIP_HIP_RUNTIME_API_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <hip/hip_version.h>

#if defined(__GNUC__)
#define MIOPY_HIP_EXPORT __attribute__((visibility("default")))
#else
#define MIOPY_HIP_EXPORT
#endif

/* In C++ some last arguments may be left out. */
#ifdef __cplusplus
#define MIOPY_HIP_DEFAULT(value) = value
extern "C" {
#else
#define MIOPY_HIP_DEFAULT(value)
#endif

typedef enum hipError_t {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorNotInitialized = 3,
    hipErrorDeinitialized = 4,
    hipErrorInvalidDevicePointer = 17,
    hipErrorInvalidMemcpyDirection = 21,
    hipErrorInsufficientDriver = 35,
    hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidContext = 201,
    hipErrorInvalidHandle = 400,
    hipErrorNotFound = 500,
    hipErrorNotReady = 600,
    hipErrorIllegalAddress = 700,
    hipErrorLaunchFailure = 719,
    hipErrorNotSupported = 801,
    hipErrorUnknown = 999,
    hipErrorMemoryAllocation = 2,       /* former name */
    hipErrorInitializationError = 3,    /* former name */
    hipErrorInvalidResourceHandle = 400 /* former name */
} hipError_t;

typedef enum hipMemcpyKind {
    hipMemcpyHostToHost = 0,
    hipMemcpyHostToDevice = 1,
    hipMemcpyDeviceToHost = 2,
    hipMemcpyDeviceToDevice = 3,
    hipMemcpyDefault = 4
} hipMemcpyKind;

typedef int hipDevice_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;

/* What is not known is 0. Clocks are in kHz, memory sizes in bytes. */
typedef struct hipDeviceProp_t {
    char name[256];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    int maxThreadsPerBlock;
    int clockRate;
    int memoryClockRate;
    int memoryBusWidth;
    int major;
    int minor;
    int multiProcessorCount;
    int l2CacheSize;
    char gcnArchName[256]; /* "host" or "cuda" */
} hipDeviceProp_t;

#define hipStreamDefault 0x00
#define hipStreamNonBlocking 0x01
#define hipStreamPerThread ((hipStream_t)2)

#define hipEventDefault 0x0
#define hipEventBlockingSync 0x1
#define hipEventDisableTiming 0x2

#define hipHostMallocDefault 0x0
#define hipHostMallocPortable 0x1
#define hipHostMallocMapped 0x2

/* ---- The device ---------------------------------------------------------------------------- */

/* hipErrorNoDevice from here and from every other call if the backend asked for is missing. */
MIOPY_HIP_EXPORT hipError_t hipInit(unsigned int flags);

/* There is one device, 0: the processor, or the first that CUDA sees. */
MIOPY_HIP_EXPORT hipError_t hipGetDeviceCount(int *count);
MIOPY_HIP_EXPORT hipError_t hipGetDevice(int *device);
MIOPY_HIP_EXPORT hipError_t hipSetDevice(int device);
MIOPY_HIP_EXPORT hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device);
MIOPY_HIP_EXPORT hipError_t hipRuntimeGetVersion(int *version);

/* Waits for all streams. */
MIOPY_HIP_EXPORT hipError_t hipDeviceSynchronize(void);

/* ---- Errors -------------------------------------------------------------------------------- */

/* The last failure in this thread, which Get forgets and Peek keeps. */
MIOPY_HIP_EXPORT hipError_t hipGetLastError(void);
MIOPY_HIP_EXPORT hipError_t hipPeekAtLastError(void);

/* The enumerator's name, and a phrase; those of hipErrorUnknown for any other number. */
MIOPY_HIP_EXPORT const char *hipGetErrorName(hipError_t error);
MIOPY_HIP_EXPORT const char *hipGetErrorString(hipError_t error);

/* ---- Memory -------------------------------------------------------------------------------- */

/* Aligned to 256 bytes, contents undefined; 0 bytes succeed and give NULL. */
MIOPY_HIP_EXPORT hipError_t hipMalloc(void **pointer, size_t nbytes);
MIOPY_HIP_EXPORT hipError_t hipHostMalloc(void **pointer, size_t nbytes,
                                          unsigned int flags MIOPY_HIP_DEFAULT(0));

/* NULL succeeds. hipErrorInvalidDevicePointer, hipErrorInvalidValue for what Malloc, HostMalloc
 * did not give or what is free already. */
MIOPY_HIP_EXPORT hipError_t hipFree(void *pointer);
MIOPY_HIP_EXPORT hipError_t hipHostFree(void *pointer);

/* Each pointer may be NULL. */
MIOPY_HIP_EXPORT hipError_t hipMemGetInfo(size_t *free_nbytes, size_t *total_nbytes);

/* The bytes asked for of hipMalloc. */
MIOPY_HIP_EXPORT hipError_t hipMemPtrGetInfo(void *pointer, size_t *nbytes);

/* 0 bytes succeed whatever the pointers. `kind` is checked for its range only: an address says
 * where its memory is. Async does not wait on CUDA. */
MIOPY_HIP_EXPORT hipError_t hipMemcpy(void *destination, const void *source, size_t nbytes,
                                      hipMemcpyKind kind);
MIOPY_HIP_EXPORT hipError_t hipMemcpyAsync(void *destination, const void *source, size_t nbytes,
                                           hipMemcpyKind kind,
                                           hipStream_t stream MIOPY_HIP_DEFAULT(0));

/* Every byte becomes the lowest byte of `value`. */
MIOPY_HIP_EXPORT hipError_t hipMemset(void *destination, int value, size_t nbytes);
MIOPY_HIP_EXPORT hipError_t hipMemsetAsync(void *destination, int value, size_t nbytes,
                                           hipStream_t stream MIOPY_HIP_DEFAULT(0));

/* ---- Streams and events: hipErrorInvalidHandle for one that does not exist (any more) -------- */

MIOPY_HIP_EXPORT hipError_t hipStreamCreate(hipStream_t *stream);
MIOPY_HIP_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags);
MIOPY_HIP_EXPORT hipError_t hipStreamDestroy(hipStream_t stream);
MIOPY_HIP_EXPORT hipError_t hipStreamSynchronize(hipStream_t stream);

/* hipErrorNotReady while work is left to do. */
MIOPY_HIP_EXPORT hipError_t hipStreamQuery(hipStream_t stream);
MIOPY_HIP_EXPORT hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                                               unsigned int flags MIOPY_HIP_DEFAULT(0));

MIOPY_HIP_EXPORT hipError_t hipEventCreate(hipEvent_t *event);
MIOPY_HIP_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned int flags);
MIOPY_HIP_EXPORT hipError_t hipEventDestroy(hipEvent_t event);
MIOPY_HIP_EXPORT hipError_t hipEventRecord(hipEvent_t event,
                                           hipStream_t stream MIOPY_HIP_DEFAULT(0));
MIOPY_HIP_EXPORT hipError_t hipEventSynchronize(hipEvent_t event);
MIOPY_HIP_EXPORT hipError_t hipEventQuery(hipEvent_t event);

/* hipErrorInvalidHandle unless both were recorded with timing. */
MIOPY_HIP_EXPORT hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start,
                                                hipEvent_t stop);

#ifdef __cplusplus
}

/* Pointers of any type. */
template <class T> inline hipError_t hipMalloc(T **pointer, size_t nbytes)
{
    return hipMalloc(reinterpret_cast<void **>(pointer), nbytes);
}

template <class T>
inline hipError_t hipHostMalloc(T **pointer, size_t nbytes, unsigned int flags = 0)
{
    return hipHostMalloc(reinterpret_cast<void **>(pointer), nbytes, flags);
}
#endif

#endif
