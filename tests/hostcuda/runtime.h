/* runtime.h: what the files of the runtime share. */
#ifndef HOSTCUDA_RUNTIME_H
#define HOSTCUDA_RUNTIME_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include "interface.h"

/* Seen from outside the library: called by Python and by the host code under test. */
#define PUBLIC extern "C"

namespace hostcuda
{
/* Numbers of CUresult. */
enum Result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_HANDLE = 400,
    LAUNCH_TIMEOUT = 702,
    MISALIGNED_ADDRESS = 716,
    LAUNCH_FAILED = 719,
    LAUNCH_TOO_LARGE = 720,
    OUT_OF_RESOURCES = 701,
    CAPTURE_UNSUPPORTED = 900,
    INVALID_CLUSTER_SIZE = 912,
};

/* As `configure` of device.py has them. */
struct Settings {
    std::uint64_t seed = 0, most_switches = 50000000;
    unsigned int most_threads = 4096; /* ThreadSanitizer knows 8128 */
    bool flush_subnormals = false;
};
extern Settings settings;

struct Launch {
    const Kernel *kernel;
    dim3 grid, block;
    unsigned int shared_nbytes;
    unsigned int cluster_blocks = 1;

    std::uint64_t num_blocks() const
    {
        return static_cast<std::uint64_t>(grid.x) * grid.y * grid.z;
    }
    unsigned int threads() const { return block.x * block.y * block.z; } /* of a block */
};

/* The device does one thing at a time: held by whatever is PUBLIC around what is declared here. */
extern std::mutex device;

bool is_captured(void *stream);

/* Do the work now or, while its stream is captured, whenever the graph is launched. */
int submit(void *stream, std::function<int()> work);

/* Whether a thread has read or written where its type cannot be. */
extern bool misaligned;

/* Run every thread of a launch whose limits have been checked. */
int run(const Launch &launch, void **arguments);
} // namespace hostcuda

#endif
