/* launch.cpp: kernels, launched through a function like the driver's. */
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "runtime.h"

namespace hostcuda
{
static const unsigned int DEFAULT_SHARED_NBYTES = 48 * 1024, MOST_SHARED_NBYTES = 227 * 1024;
static const unsigned int PORTABLE_CLUSTER = 8, MOST_CLUSTER = 16;

/* What a kernel may have. */
struct Limits {
    unsigned int shared_nbytes = DEFAULT_SHARED_NBYTES, cluster_blocks = PORTABLE_CLUSTER;
};
static std::map<const void *, Limits> kernels;

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
    if (launch.threads() > 1024 || launch.shared_nbytes > kernel->second.shared_nbytes)
        return INVALID_VALUE;
    if (launch.cluster_blocks > kernel->second.cluster_blocks ||
        launch.grid.x % launch.cluster_blocks)
        return INVALID_CLUSTER_SIZE;
    if (launch.cluster_blocks > 1 &&
        launch.cluster_blocks > settings.most_threads / launch.threads())
        return OUT_OF_RESOURCES;
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
    kernels.emplace(kernel, Limits());
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
    found->second.shared_nbytes = std::max(found->second.shared_nbytes, nbytes);
    return SUCCESS;
}

/* As cuFuncSetAttribute for clusters larger than every device has. */
PUBLIC int hostcuda_allow_large_clusters(const Kernel *kernel)
{
    std::lock_guard<std::mutex> lock(device);
    const auto found = kernels.find(kernel);
    if (found == kernels.end())
        return INVALID_HANDLE;
    found->second.cluster_blocks = MOST_CLUSTER;
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

/* CUlaunchConfig as cuda.h has it, with the one attribute that is known here. */
struct Attribute {
    enum { CLUSTER_DIMENSION = 4 } id;
    char padding[4];
    dim3 cluster;
    char rest[52];
};
struct Config {
    dim3 grid, block;
    unsigned int shared_nbytes;
    void *stream;
    const Attribute *attributes;
    unsigned int num_attributes;
};
static_assert(sizeof(Attribute) == 72 && sizeof(Config) == 56, "with addresses of 8 bytes");

/* As cuLaunchKernelEx, with one attribute: clusters along x. */
PUBLIC int hostcuda_launch_configured(const Config *config, void *function, void **arguments,
                                      void **extra)
{
    if (config->num_attributes != 1 || config->attributes->id != Attribute::CLUSTER_DIMENSION)
        return INVALID_VALUE;
    const dim3 cluster = config->attributes->cluster;
    const Launch launch = {static_cast<const Kernel *>(function), config->grid, config->block,
                           config->shared_nbytes, cluster.x};
    std::lock_guard<std::mutex> lock(device);
    if (!cluster.x || cluster.y != 1 || cluster.z != 1)
        return INVALID_CLUSTER_SIZE;
    if (const int refusal = check(launch, arguments, extra))
        return refusal;
    return give(launch, config->stream, arguments);
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
