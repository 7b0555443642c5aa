/* What the HIP functions do on every backend; run on host memory and on a stand-in for CUDA. */

#define _POSIX_C_SOURCE 200809L

#include <hip/hip_runtime.h>

#include <pthread.h>

#include "check.h"

enum { NUM_THREADS = 8, NUM_ROUNDS = 200 };

static void check_device(void)
{
    int number = -1;
    hipDeviceProp_t properties;
    EXPECT(hipSuccess, hipInit(0));
    EXPECT(hipErrorInvalidValue, hipInit(1));
    EXPECT(hipSuccess, hipGetDeviceCount(&number));
    CHECK(number == 1);
    EXPECT(hipSuccess, hipGetDevice(&number));
    CHECK(number == 0);
    EXPECT(hipErrorInvalidValue, hipGetDeviceCount(NULL));
    EXPECT(hipErrorInvalidValue, hipGetDevice(NULL));
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipErrorInvalidDevice, hipSetDevice(1));
    EXPECT(hipErrorInvalidDevice, hipSetDevice(-1));
    EXPECT(hipSuccess, hipGetDeviceProperties(&properties, 0));
    CHECK(properties.name[0] && properties.gcnArchName[0]);
    CHECK(properties.totalGlobalMem > 0 && properties.multiProcessorCount > 0);
    EXPECT(hipErrorInvalidValue, hipGetDeviceProperties(NULL, 0));
    EXPECT(hipErrorInvalidDevice, hipGetDeviceProperties(&properties, 1));
    EXPECT(hipSuccess, hipRuntimeGetVersion(&number));
    CHECK(number == HIP_VERSION);
    EXPECT(hipErrorInvalidValue, hipRuntimeGetVersion(NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
}

static void check_errors(void)
{
    hipGetLastError();
    EXPECT(hipSuccess, hipPeekAtLastError());
    EXPECT(hipErrorInvalidValue, hipMalloc(NULL, 1));
    EXPECT(hipSuccess, hipFree(NULL)); /* a success leaves the last failure */
    EXPECT(hipErrorInvalidValue, hipPeekAtLastError());
    EXPECT(hipErrorInvalidValue, hipGetLastError());
    EXPECT(hipSuccess, hipGetLastError());
    CHECK(!strcmp(hipGetErrorName(hipErrorInvalidHandle), "hipErrorInvalidHandle"));
    CHECK(!strcmp(hipGetErrorName((hipError_t)-7), "hipErrorUnknown"));
    CHECK(!strcmp(hipGetErrorString(hipSuccess), "no error"));
    CHECK(!strcmp(hipGetErrorString((hipError_t)12345), "unknown error"));
}

static void check_device_memory(void)
{
    void *pointer = &pointer;
    size_t nbytes = 0, total = 0;
    char local = 0;
    EXPECT(hipSuccess, hipMalloc(&pointer, 0));
    CHECK(pointer == NULL);
    EXPECT(hipErrorOutOfMemory, hipMalloc(&pointer, (size_t)1 << 60));
    CHECK(pointer == NULL);
    EXPECT(hipSuccess, hipMalloc(&pointer, 1000));
    CHECK((uintptr_t)pointer % 256 == 0);
    EXPECT(hipSuccess, hipMemPtrGetInfo(pointer, &nbytes));
    CHECK(nbytes == 1000);
    EXPECT(hipErrorInvalidValue, hipMemPtrGetInfo(pointer, NULL));
    EXPECT(hipErrorInvalidValue, hipMemPtrGetInfo(&local, &nbytes));
    EXPECT(hipErrorInvalidValue, hipHostFree(pointer));
    EXPECT(hipErrorInvalidDevicePointer, hipFree((char *)pointer + 16));
    EXPECT(hipSuccess, hipFree(pointer));
    EXPECT(hipErrorInvalidDevicePointer, hipFree(pointer));
    EXPECT(hipErrorInvalidDevicePointer, hipFree(&local));
    EXPECT(hipErrorInvalidDevicePointer, hipFree((void *)0x1234));
    EXPECT(hipErrorInvalidValue, hipMemPtrGetInfo(pointer, &nbytes));
    EXPECT(hipSuccess, hipMemGetInfo(&nbytes, &total));
    CHECK(0 < nbytes && nbytes <= total);
    EXPECT(hipSuccess, hipMemGetInfo(NULL, NULL));
}

static void check_host_memory(void)
{
    void *pointer = NULL;
    EXPECT(hipErrorInvalidValue, hipHostMalloc(NULL, 1, hipHostMallocDefault));
    EXPECT(hipSuccess, hipHostMalloc(&pointer, 1000, hipHostMallocDefault));
    memset(pointer, 1, 1000);
    EXPECT(hipErrorInvalidDevicePointer, hipFree(pointer));
    EXPECT(hipSuccess, hipHostFree(pointer));
    EXPECT(hipErrorInvalidValue, hipHostFree(pointer));
    EXPECT(hipSuccess, hipHostFree(NULL));
}

static void check_copies(void)
{
    enum { NBYTES = 5000 };
    static unsigned char sent[NBYTES], received[NBYTES];
    void *first, *second;
    hipStream_t stream;
    for (size_t i = 0; i < NBYTES; i++)
        sent[i] = (unsigned char)(i * 7);
    EXPECT(hipSuccess, hipStreamCreate(&stream));
    EXPECT(hipSuccess, hipMalloc(&first, NBYTES));
    EXPECT(hipSuccess, hipMalloc(&second, NBYTES));
    EXPECT(hipSuccess, hipMemcpy(first, sent, NBYTES, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, hipMemcpyAsync(second, first, NBYTES, hipMemcpyDeviceToDevice, stream));
    EXPECT(hipSuccess, hipStreamSynchronize(stream));
    EXPECT(hipSuccess, hipMemcpy(received, second, NBYTES, hipMemcpyDeviceToHost));
    CHECK(!memcmp(sent, received, NBYTES));

    EXPECT(hipSuccess, hipMemset(first, 0x1ff, NBYTES - 1));
    EXPECT(hipSuccess, hipMemsetAsync(first, 3, 10, hipStreamPerThread));
    EXPECT(hipSuccess, hipMemsetAsync(first, 4, 0, NULL));
    EXPECT(hipSuccess, hipMemcpy(received, first, NBYTES, hipMemcpyDefault));
    CHECK(received[0] == 3 && received[9] == 3 && received[10] == 0xff);
    CHECK(received[NBYTES - 2] == 0xff && received[NBYTES - 1] == sent[NBYTES - 1]);

    EXPECT(hipSuccess, hipMemcpy(NULL, NULL, 0, hipMemcpyHostToDevice));
    EXPECT(hipErrorInvalidValue, hipMemcpy(NULL, sent, 1, hipMemcpyHostToDevice));
    EXPECT(hipErrorInvalidValue, hipMemcpy(first, NULL, 1, hipMemcpyHostToDevice));
    EXPECT(hipErrorInvalidMemcpyDirection, hipMemcpy(first, sent, 1, (hipMemcpyKind)5));
    EXPECT(hipErrorInvalidValue, hipMemset(NULL, 0, 1));
    EXPECT(hipSuccess, hipFree(first));
    EXPECT(hipSuccess, hipFree(second));
    EXPECT(hipSuccess, hipStreamDestroy(stream));
    EXPECT(hipErrorInvalidHandle, hipMemcpyAsync(sent, sent, 1, hipMemcpyHostToHost, stream));
    EXPECT(hipErrorInvalidHandle, hipMemsetAsync(sent, 0, 1, stream));
}

static void check_streams(void)
{
    hipStream_t stream = NULL;
    hipEvent_t event;
    EXPECT(hipErrorInvalidValue, hipStreamCreate(NULL));
    EXPECT(hipErrorInvalidValue, hipStreamCreateWithFlags(&stream, 2));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipEventCreate(&event));
    EXPECT(hipSuccess, hipEventRecord(event, stream));
    EXPECT(hipSuccess, hipStreamWaitEvent(stream, event, 0));
    EXPECT(hipSuccess, hipStreamWaitEvent(NULL, event, 0));
    EXPECT(hipErrorInvalidValue, hipStreamWaitEvent(stream, event, 1));
    EXPECT(hipSuccess, hipStreamSynchronize(stream));
    EXPECT(hipSuccess, hipStreamQuery(stream));
    EXPECT(hipSuccess, hipStreamQuery(NULL));
    EXPECT(hipErrorInvalidHandle, hipStreamDestroy(NULL));
    EXPECT(hipSuccess, hipStreamDestroy(stream));
    EXPECT(hipErrorInvalidHandle, hipStreamDestroy(stream));
    EXPECT(hipErrorInvalidHandle, hipStreamSynchronize(stream));
    EXPECT(hipErrorInvalidHandle, hipStreamQuery(stream));
    EXPECT(hipErrorInvalidHandle, hipStreamWaitEvent(stream, event, 0));
    EXPECT(hipErrorInvalidHandle, hipEventRecord(event, stream));
    EXPECT(hipErrorInvalidHandle, hipStreamQuery((hipStream_t)event));
    EXPECT(hipSuccess, hipEventDestroy(event));
    EXPECT(hipErrorInvalidHandle, hipStreamWaitEvent(NULL, event, 0));
}

static void check_events(void)
{
    hipEvent_t start, stop, untimed;
    float milliseconds = -1;
    EXPECT(hipErrorInvalidValue, hipEventCreate(NULL));
    EXPECT(hipErrorInvalidValue, hipEventCreateWithFlags(&start, 64));
    EXPECT(hipSuccess, hipEventCreate(&start));
    EXPECT(hipSuccess, hipEventCreateWithFlags(&stop, hipEventBlockingSync));
    EXPECT(hipSuccess, hipEventCreateWithFlags(&untimed, hipEventDisableTiming));
    EXPECT(hipSuccess, hipEventRecord(start, NULL));
    EXPECT(hipErrorInvalidHandle, hipEventElapsedTime(&milliseconds, start, stop));
    EXPECT(hipSuccess, hipEventRecord(stop, NULL));
    EXPECT(hipSuccess, hipEventRecord(untimed, NULL));
    EXPECT(hipSuccess, hipEventSynchronize(stop));
    EXPECT(hipSuccess, hipEventQuery(stop));
    EXPECT(hipErrorInvalidHandle, hipEventElapsedTime(&milliseconds, start, untimed));
    CHECK(milliseconds == -1);
    EXPECT(hipSuccess, hipEventElapsedTime(&milliseconds, start, stop));
    CHECK(0 <= milliseconds && milliseconds < 10000);
    EXPECT(hipErrorInvalidValue, hipEventElapsedTime(NULL, start, stop));
    EXPECT(hipSuccess, hipEventDestroy(untimed));
    EXPECT(hipSuccess, hipEventDestroy(start));
    EXPECT(hipSuccess, hipEventDestroy(stop));
    EXPECT(hipErrorInvalidHandle, hipEventDestroy(stop));
    EXPECT(hipErrorInvalidHandle, hipEventRecord(stop, NULL));
    EXPECT(hipErrorInvalidHandle, hipEventQuery(stop));
    EXPECT(hipErrorInvalidHandle, hipEventSynchronize(stop));
    EXPECT(hipErrorInvalidHandle, hipEventElapsedTime(&milliseconds, start, stop));
    EXPECT(hipErrorInvalidHandle, hipEventDestroy(NULL));
}

static void *allocate_and_free(void *failures)
{
    for (int round = 0; round < NUM_ROUNDS; round++) {
        void *pointer;
        hipStream_t stream;
        *(int *)failures += hipMalloc(&pointer, (size_t)(1 + round)) != hipSuccess;
        *(int *)failures += hipMemset(pointer, round, 1) != hipSuccess;
        *(int *)failures += hipStreamCreate(&stream) != hipSuccess;
        *(int *)failures += hipStreamDestroy(stream) != hipSuccess;
        *(int *)failures += hipFree(pointer) != hipSuccess;
    }
    *(int *)failures += hipGetLastError() != hipSuccess; /* the main thread's is another */
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[NUM_THREADS];
    int failures[NUM_THREADS] = {0};
    hipFree(&failures);
    for (int i = 0; i < NUM_THREADS; i++)
        pthread_create(&threads[i], NULL, allocate_and_free, &failures[i]);
    for (int i = 0; i < NUM_THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(failures[i] == 0);
    }
    EXPECT(hipErrorInvalidDevicePointer, hipGetLastError());
}

int main(void)
{
    check_device();
    check_errors();
    check_device_memory();
    check_host_memory();
    check_copies();
    check_streams();
    check_events();
    check_threads();
    return exit_status();
}
