/* What HIP offers to C++ alone: typed pointers and arguments left out. */

#include <hip/hip_runtime.h>

#include "check.h"

int main()
{
    std::vector<float> sent(100, 1.5f), received(100);
    const size_t nbytes = sent.size() * sizeof(float);
    float *device = nullptr, *pinned = nullptr;
    hipEvent_t event;
    EXPECT(hipSuccess, hipMalloc(&device, nbytes));
    EXPECT(hipSuccess, hipHostMalloc(&pinned, nbytes));
    EXPECT(hipSuccess, hipEventCreate(&event));
    EXPECT(hipSuccess, hipMemcpyAsync(device, sent.data(), nbytes, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, hipEventRecord(event));
    EXPECT(hipSuccess, hipStreamWaitEvent(nullptr, event));
    EXPECT(hipSuccess, hipMemcpy(received.data(), device, nbytes, hipMemcpyDeviceToHost));
    CHECK(sent == received);
    EXPECT(hipSuccess, hipMemsetAsync(device, 0, nbytes));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipEventDestroy(event));
    EXPECT(hipSuccess, hipHostFree(pinned));
    EXPECT(hipSuccess, hipFree(device));
    return exit_status();
}
