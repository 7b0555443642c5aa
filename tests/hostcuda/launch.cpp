/* launch.cpp: kernels, launched through a function like the driver's. */
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "runtime.h"

namespace hostcuda
{
static const unsigned int DEFAULT_SHARED_NBYTES = 48 * 1024, MOST_SHARED_NBYTES = 227 * 1024;
static std::map<const void *, unsigned int> kernels; /* shared memory that each may have */

static bool is_within(dim3 size, dim3 limit)
{
    return size.x - 1 < limit.x && size.y - 1 < limit.y && size.z - 1 < limit.z; /* 0 is huge */
}

/* What the driver refuses. */
static int check(const Launch &launch, void **arguments, void **extra)
{
    const dim3 block = launch.block;
    const auto kernel = kernels.find(launch.kernel);
    if (kernel == kernels.end())
        return INVALID_HANDLE;
    if (!is_within(launch.grid, {0x7fffffff, 65535, 65535}) || !is_within(block, {1024, 1024, 64}))
        return INVALID_VALUE;
    if (launch.threads() > 1024 || launch.shared_nbytes > kernel->second)
        return INVALID_VALUE;
    if (extra || (!arguments && launch.kernel->num_arguments))
        return INVALID_VALUE;
    return SUCCESS;
}

/* Arguments of a launch that outlive the call. */
class Arguments
{
  public:
    Arguments(const Kernel &kernel, void **arguments)
    {
        for (int n = 0; n < kernel.num_arguments; n++) {
            const std::size_t unit = sizeof(std::max_align_t);
            values.emplace_back((kernel.sizes[n] + unit - 1) / unit);
            std::memcpy(values.back().data(), arguments[n], kernel.sizes[n]);
        }
    }

    std::vector<void *> addresses()
    {
        std::vector<void *> all;
        for (auto &value : values)
            all.push_back(value.data());
        return all;
    }

  private:
    std::vector<std::vector<std::max_align_t>> values;
};

PUBLIC void hostcuda_add_kernel(const Kernel *kernel)
{
    std::lock_guard<std::mutex> lock(device);
    kernels.emplace(kernel, DEFAULT_SHARED_NBYTES);
}

/* As cuFuncSetAttribute for the most dynamic shared memory. */
PUBLIC int hostcuda_allow_shared(const Kernel *kernel, unsigned int nbytes)
{
    std::lock_guard<std::mutex> lock(device);
    const auto found = kernels.find(kernel);
    if (found == kernels.end())
        return INVALID_HANDLE;
    if (nbytes > MOST_SHARED_NBYTES)
        return INVALID_VALUE;
    found->second = std::max(found->second, nbytes);
    return SUCCESS;
}

/* Run it now, or whenever the graph is launched that the stream is captured into. */
static int give(const Launch &launch, void *stream, void **arguments)
{
    if (!is_captured(stream))
        return run(launch, arguments);
    return submit(stream, [launch, copies = Arguments(*launch.kernel, arguments)]() mutable {
        return run(launch, copies.addresses().data());
    });
}

/* As cuLaunchKernel; the stream is any address, `extra` is not offered. */
PUBLIC int hostcuda_launch(void *function, unsigned int grid_x, unsigned int grid_y,
                           unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                           unsigned int block_z, unsigned int shared_nbytes, void *stream,
                           void **arguments, void **extra)
{
    const Launch launch = {static_cast<const Kernel *>(function),
                           {grid_x, grid_y, grid_z},
                           {block_x, block_y, block_z},
                           shared_nbytes};
    std::lock_guard<std::mutex> lock(device);
    if (const int refusal = check(launch, arguments, extra))
        return refusal;
    return give(launch, stream, arguments);
}

/* How many blocks run side by side. */
PUBLIC unsigned int hostcuda_resident_blocks(unsigned int threads)
{
    std::lock_guard<std::mutex> lock(device);
    return settings.most_threads / threads;
}

/* As cuLaunchCooperativeKernel: all blocks run side by side. */
PUBLIC int hostcuda_launch_together(void *function, unsigned int grid_x, unsigned int grid_y,
                                    unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                    unsigned int block_z, unsigned int shared_nbytes, void *stream,
                                    void **arguments)
{
    const Launch launch = {static_cast<const Kernel *>(function),
                           {grid_x, grid_y, grid_z},
                           {block_x, block_y, block_z},
                           shared_nbytes};
    std::lock_guard<std::mutex> lock(device);
    if (const int refusal = check(launch, arguments, nullptr))
        return refusal;
    if (launch.num_blocks() > settings.most_threads / launch.threads())
        return LAUNCH_TOO_LARGE;
    return give(launch, stream, arguments);
}
} // namespace hostcuda
