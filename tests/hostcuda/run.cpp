/* run.cpp: running the threads of a launch, one after another or on fibers. */
#include "scheduler.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace hostcuda
{
Thread *current;
Settings settings;

PUBLIC void hostcuda_configure(std::uint64_t seed, std::uint64_t most_switches,
                               unsigned int most_threads, bool flush_subnormals)
{
    std::lock_guard<std::mutex> lock(device);
    settings = {seed, most_switches, most_threads, flush_subnormals};
}

/* While it lives, arithmetic takes and gives zeros for subnormal numbers, if that is set. */
class Flushing
{
#ifdef __SSE__
  public:
    Flushing() : before(_mm_getcsr())
    {
        if (settings.flush_subnormals)
            _mm_setcsr(before | FLUSH_RESULTS | FLUSH_OPERANDS);
    }
    ~Flushing() { _mm_setcsr(before); }

  private:
    static const unsigned int FLUSH_RESULTS = 1 << 15, FLUSH_OPERANDS = 1 << 6;
    unsigned int before;
#endif
};

/* For kernels whose threads never wait: no stacks to change, so many times as fast. */
static int run_in_turn(const Launch &launch, void **arguments)
{
    Thread thread = {{}, {}, launch.block, launch.grid, 0, nullptr};
    dim3 &at = thread.thread, &block = thread.block;
    current = &thread;
    for (block.z = 0; block.z < launch.grid.z; block.z++)
        for (block.y = 0; block.y < launch.grid.y; block.y++)
            for (block.x = 0; block.x < launch.grid.x; block.x++)
                for (at.z = 0; at.z < launch.block.z; at.z++)
                    for (at.y = 0; at.y < launch.block.y; at.y++)
                        for (at.x = 0; at.x < launch.block.x; at.x++)
                            launch.kernel->call(arguments);
    current = nullptr;
    return SUCCESS;
}

static int run_threads(const Launch &launch, void **arguments)
{
    if (launch.kernel->needs_fibers || FINDS_RACES) /* races are between flows of control */
        return Scheduler(launch, arguments).run();
    return run_in_turn(launch, arguments);
}

int run(const Launch &launch, void **arguments)
{
    [[maybe_unused]] const Flushing flushing;
    misaligned = false;
    const int result = run_threads(launch, arguments);
    return misaligned ? MISALIGNED_ADDRESS : result;
}
} // namespace hostcuda
