/* What the HIP functions do when the backend that was asked for is missing. */

#include <hip/hip_runtime_api.h>

#include "check.h"

static void check_memory(void)
{
    size_t nbytes = 7;
    char data[2] = {0};
    void *pointer = data;
    EXPECT(hipErrorNoDevice, hipMalloc(&pointer, 1));
    EXPECT(hipErrorNoDevice, hipHostMalloc(&pointer, 1, hipHostMallocDefault));
    EXPECT(hipErrorNoDevice, hipFree(NULL));
    EXPECT(hipErrorNoDevice, hipHostFree(NULL));
    EXPECT(hipErrorNoDevice, hipMemGetInfo(&nbytes, &nbytes));
    EXPECT(hipErrorNoDevice, hipMemcpy(data, data + 1, 1, hipMemcpyHostToHost));
    EXPECT(hipErrorNoDevice, hipMemcpyAsync(data, data + 1, 1, hipMemcpyHostToHost, NULL));
    EXPECT(hipErrorNoDevice, hipMemset(data, 1, 1));
    EXPECT(hipErrorInvalidValue, hipMemPtrGetInfo(data, &nbytes));
    CHECK(pointer == data && data[0] == 0 && nbytes == 7);
}

static void check_streams(void)
{
    hipStream_t stream = NULL;
    hipEvent_t event = NULL;
    float milliseconds;
    EXPECT(hipErrorNoDevice, hipStreamCreate(&stream));
    EXPECT(hipErrorNoDevice, hipStreamDestroy(stream));
    EXPECT(hipErrorNoDevice, hipStreamSynchronize(stream));
    EXPECT(hipErrorNoDevice, hipStreamQuery(stream));
    EXPECT(hipErrorNoDevice, hipStreamWaitEvent(stream, event, 0));
    EXPECT(hipErrorNoDevice, hipEventCreate(&event));
    EXPECT(hipErrorNoDevice, hipEventDestroy(event));
    EXPECT(hipErrorNoDevice, hipEventRecord(event, stream));
    EXPECT(hipErrorNoDevice, hipEventSynchronize(event));
    EXPECT(hipErrorNoDevice, hipEventQuery(event));
    EXPECT(hipErrorNoDevice, hipEventElapsedTime(&milliseconds, event, event));
}

int main(void)
{
    int number = 7;
    hipDeviceProp_t properties;
    EXPECT(hipErrorNoDevice, hipInit(0));
    EXPECT(hipErrorNoDevice, hipGetDeviceCount(&number));
    CHECK(number == 0);
    EXPECT(hipErrorNoDevice, hipGetDevice(&number));
    EXPECT(hipErrorNoDevice, hipSetDevice(0));
    EXPECT(hipErrorNoDevice, hipGetDeviceProperties(&properties, 0));
    EXPECT(hipErrorNoDevice, hipDeviceSynchronize());
    check_memory();
    check_streams();
    EXPECT(hipErrorInvalidValue, hipMemPtrGetInfo(NULL, NULL));
    EXPECT(hipErrorInvalidValue, hipGetLastError());
    return exit_status();
}
