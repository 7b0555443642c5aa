/* scheduler.h: the threads of a launch as fibers, and what they wait for. */
#ifndef HOSTCUDA_SCHEDULER_H
#define HOSTCUDA_SCHEDULER_H

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fiber.h"
#include "runtime.h"
#include "sanitizers.h"

namespace hostcuda
{
struct Cluster;
struct ResidentBlock;

struct CudaThread : Thread {
    explicit CudaThread(void (*body)()) : Thread(), fiber(body) {}

    Fiber fiber;
    ResidentBlock *home = nullptr;
    unsigned int index = 0; /* in its block */
    bool returned = false;
    Place place = ""; /* where it waits or has spun last */
    std::vector<Copy> open_copies;
    std::deque<std::vector<Copy>> closed_copies;
};

/* Tags of even and odd phases, so that who is late in leaving one phase does not come after what
 * others do before they enter the next. */
struct Barrier {
    std::vector<CudaThread *> waiting;
    unsigned int phase = 0;
    char tags[2];
};

/* Lanes of a warp that wait for each other, and the values they bring in even and odd phases. */
struct Group {
    Barrier barrier;
    unsigned long values[2][WARP];
};

/* One of the blocks that run side by side; when all threads of its cluster have returned, the next
 * cluster takes their place. */
struct ResidentBlock {
    Cluster *cluster = nullptr;
    std::vector<CudaThread *> threads;
    unsigned int alive = 0;
    Barrier barrier;
    std::vector<std::map<unsigned int, Group>> warps; /* groups by mask */
    std::unique_ptr<unsigned char, void (*)(void *)> shared{nullptr, std::free};
    char begun, ended; /* tags of what comes before its threads, and of what they have done */
};

/* Blocks that run side by side and reach each other's shared memory; a block by itself is one. */
struct Cluster {
    std::vector<ResidentBlock *> blocks;
    unsigned int alive = 0; /* blocks */
    Barrier barrier;
};

/* What a thread has pushed into a block of its cluster, and has not arrived. */
struct Push {
    ResidentBlock *block;
    unsigned int *to, words[4];
    ByteBarrier *barrier;
};

class Scheduler
{
  public:
    Scheduler(const Launch &launch, void **arguments);
    int run();

    void make_ready(CudaThread &thread) { ready.push_back(&thread); }

    /* End the launch with a message, for what the thread that runs does at a place. */
    [[noreturn]] void fail(const std::string &message, const Place &place);

    /* Let one push arrive, whichever; false if there is none. */
    bool deliver();

    const Launch &launch;
    void **arguments;
    Barrier grid;
    std::vector<Push> pushes;

  private:
    void start_threads();
    void begin(ResidentBlock &block);
    void begin(Cluster &cluster);
    std::uint64_t draw(); /* the next number of the sequence that the seed begins */
    void end_thread(CudaThread &thread);
    int report() const; /* say what waits where; the launch's result */

    std::vector<ResidentBlock> blocks;
    std::vector<Cluster> clusters;
    std::deque<CudaThread *> ready;
    std::uint64_t num_blocks, next_block = 0, switches = 0, random;
    std::string failure;
};

/* The launch that is under way; NULL outside of any. */
extern Scheduler *scheduler;

std::string describe(const Place &place);

/* The thread that runs, on a fiber. */
CudaThread &self(const Place &place);
} // namespace hostcuda

#endif
