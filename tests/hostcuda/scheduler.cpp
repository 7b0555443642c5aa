/* scheduler.cpp: running a launch on fibers, a block's threads in turn, some blocks at a time. */
#include "scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace hostcuda
{
Scheduler *scheduler;

static const std::size_t SHARED_ALIGNMENT = 128;
static const Place START("the start", "", 0);
static const unsigned int MOST_REPORTED = 8; /* blocks */

/* What every fiber does, one CUDA thread after another. */
static void body()
{
    for (;;) {
        CudaThread &self = *static_cast<CudaThread *>(current);
        acquire(self.home->begun);
        scheduler->launch.kernel->call(scheduler->arguments);
        release(self.home->ended);
        self.returned = true;
        Fiber::suspend();
    }
}

/* Fibers outlive launches. Those of a launch that failed are in the midst of their bodies, and are
 * dropped. */
static std::vector<std::unique_ptr<CudaThread>> &pool()
{
    static std::vector<std::unique_ptr<CudaThread>> threads;
    return threads;
}

static dim3 position(std::uint64_t index, dim3 size)
{
    return {static_cast<unsigned int>(index % size.x),
            static_cast<unsigned int>(index / size.x % size.y),
            static_cast<unsigned int>(index / size.x / size.y)};
}

Scheduler::Scheduler(const Launch &launch, void **arguments) : launch(launch), arguments(arguments)
{
    const unsigned int threads = launch.threads(), size = launch.cluster_blocks;
    num_blocks = launch.num_blocks();
    random = settings.seed;
    const std::uint64_t most = std::max(1u, settings.most_threads / threads / size) * size;
    blocks = std::vector<ResidentBlock>(std::min(num_blocks, most));
    clusters = std::vector<Cluster>(blocks.size() / size);
    while (pool().size() < blocks.size() * threads)
        pool().push_back(std::make_unique<CudaThread>(body));
    for (std::size_t n = 0; n < blocks.size(); n++)
        for (unsigned int index = 0; index < threads; index++)
            blocks[n].threads.push_back(pool()[n * threads + index].get());
    for (std::size_t n = 0; n < blocks.size(); n++) {
        blocks[n].cluster = &clusters[n / size];
        clusters[n / size].blocks.push_back(&blocks[n]);
    }
}

std::uint64_t Scheduler::draw()
{
    random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return random >> 33;
}

/* Give the next block of the grid to the threads of a resident one. */
void Scheduler::begin(ResidentBlock &block)
{
    const dim3 at = position(next_block++, launch.grid);
    const std::size_t nbytes = launch.shared_nbytes;
    void *shared = nullptr;
    if (nbytes) {
        if (posix_memalign(&shared, SHARED_ALIGNMENT, nbytes))
            throw std::bad_alloc();
        std::memset(shared, 0xff, nbytes); /* NaN: unwritten memory must not look like zeros */
    }
    block.shared.reset(static_cast<unsigned char *>(shared));
    block.alive = block.threads.size();
    block.warps.clear();
    block.warps.resize((block.alive + WARP - 1) / WARP);
    for (unsigned int index = 0; index < block.alive; index++) {
        CudaThread &thread = *block.threads[index];
        static_cast<Thread &>(thread) = {position(index, launch.block),
                                         at,
                                         launch.block,
                                         launch.grid,
                                         index % WARP,
                                         block.shared.get()};
        thread.home = &block;
        thread.index = index;
        thread.returned = false;
        thread.place = START;
        thread.open_copies.clear();
        thread.closed_copies.clear();
        ready.push_back(&thread);
    }
    release(block.begun);
}

void Scheduler::begin(Cluster &cluster)
{
    cluster.alive = cluster.blocks.size();
    cluster.barrier.phase = 0;
    for (ResidentBlock *block : cluster.blocks)
        begin(*block);
}

void Scheduler::start_threads()
{
    for (auto &cluster : clusters)
        begin(cluster);
    for (std::size_t left = ready.size(); settings.seed && left > 1; left--)
        std::swap(ready[left - 1], ready[draw() % left]);
}

void Scheduler::end_thread(CudaThread &thread)
{
    ResidentBlock &block = *thread.home;
    if (--block.alive)
        return;
    acquire(block.ended);
    block.shared.reset();
    if (--block.cluster->alive == 0 && next_block < num_blocks)
        begin(*block.cluster);
}

int Scheduler::run()
{
    scheduler = this;
    start_threads();
    while (!ready.empty() && failure.empty() && switches < settings.most_switches) {
        CudaThread &thread = *ready.front();
        ready.pop_front();
        current = &thread;
        switches++;
        thread.fiber.resume();
        if (thread.returned)
            end_thread(thread);
    }
    current = nullptr;
    scheduler = nullptr;
    if (!pushes.empty() && failure.empty())
        failure = "a push to a block that has left";
    const bool done =
        failure.empty() && std::all_of(blocks.begin(), blocks.end(),
                                       [](const ResidentBlock &block) { return !block.alive; });
    const int result = done ? SUCCESS : report();
    if (!done)
        pool().clear();
    return result;
}

void Scheduler::fail(const std::string &message, const Place &place)
{
    static_cast<CudaThread *>(current)->place = place;
    failure = message;
    for (;;)
        Fiber::suspend();
}

std::string describe(const Place &place)
{
    const std::string call = place.call;
    return place.line == START.line
               ? call
               : call + " (" + place.file + ":" + std::to_string(place.line) + ")";
}

/* Where a thread is, in words. */
static std::string state(const CudaThread &thread)
{
    return thread.returned ? "returned" : "at " + describe(thread.place);
}

/* Lines about a block, one for neighbours in the same state. */
static void report(const ResidentBlock &block)
{
    const unsigned int threads = block.threads.size();
    const dim3 at = block.threads[0]->block;
    for (unsigned int first = 0, end; first < threads; first = end) {
        const std::string text = state(*block.threads[first]);
        for (end = first + 1; end < threads && state(*block.threads[end]) == text;)
            end++;
        std::fprintf(stderr, "  block (%u, %u, %u), threads %u to %u: %s\n", at.x, at.y, at.z,
                     first, end - 1, text.c_str());
    }
}

int Scheduler::report() const
{
    const bool endless = failure.empty() && !ready.empty();
    const std::string reason = endless ? "endless spin" : failure.empty() ? "deadlock" : failure;
    std::fprintf(stderr, "hostcuda: kernel %s: %s\n", launch.kernel->name, reason.c_str());
    unsigned int reported = 0;
    for (const ResidentBlock &block : blocks)
        if (block.alive && reported++ < MOST_REPORTED)
            hostcuda::report(block);
    if (reported > MOST_REPORTED)
        std::fprintf(stderr, "  and %u more blocks\n", reported - MOST_REPORTED);
    return endless ? LAUNCH_TIMEOUT : LAUNCH_FAILED;
}
} // namespace hostcuda
