/* synchronize.cpp: barriers, exchanges between lanes, copies that arrive later. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "scheduler.h"

namespace hostcuda
{
CudaThread &self(const Place &place)
{
    if (!scheduler) { /* build.py saw no call that waits, so the threads run in turn */
        std::fprintf(stderr, "hostcuda: %s without fibers\n", describe(place).c_str());
        std::abort();
    }
    return *static_cast<CudaThread *>(current);
}

/* Wait until so many threads have come, the caller included. */
static void wait(Barrier &barrier, unsigned int needed, const Place &place)
{
    CudaThread &caller = self(place);
    caller.place = place;
    barrier.waiting.push_back(&caller);
    if (barrier.waiting.size() < needed) {
        Fiber::suspend();
        return;
    }
    barrier.phase++;
    for (CudaThread *thread : barrier.waiting)
        if (thread != &caller)
            scheduler->make_ready(*thread);
    barrier.waiting.clear();
}

/* The same, with all that was done before ordered before all that comes after. */
static void wait_in_order(Barrier &barrier, unsigned int needed, const Place &place)
{
    char &tag = barrier.tags[barrier.phase % 2];
    release(tag);
    wait(barrier, needed, place);
    acquire(tag);
}

static bool is_same(const Place &one, const Place &other)
{
    return one.line == other.line && !std::strcmp(one.file, other.file);
}

void sync_block(Place place)
{
    ResidentBlock &block = *self(place).home;
    /* A device may not notice, but CUDA promises nothing then. */
    if (!block.barrier.waiting.empty() && !is_same(block.barrier.waiting[0]->place, place))
        scheduler->fail(describe(block.barrier.waiting[0]->place) + " and " + describe(place) +
                            " are reached by threads of one block",
                        place);
    wait_in_order(block.barrier, block.threads.size(), place);
}

void sync_grid(Place place)
{
    const CudaThread &caller = self(place);
    const dim3 grid = scheduler->launch.grid;
    const std::size_t num_blocks = static_cast<std::size_t>(grid.x) * grid.y * grid.z;
    wait_in_order(scheduler->grid, num_blocks * caller.home->threads.size(), place);
}

/* What was pushed before has arrived behind it. */
void sync_cluster(Place place)
{
    const CudaThread &caller = self(place);
    Cluster &cluster = *caller.home->cluster;
    while (scheduler->deliver()) {
    }
    wait_in_order(cluster.barrier, cluster.blocks.size() * caller.home->threads.size(), place);
}

/* The group of lanes in a mask, one of which calls, and how many of them there are in its block. */
static Group &group(unsigned int mask, const Place &place, unsigned int *num_lanes)
{
    CudaThread &caller = self(place);
    const unsigned int warp = caller.index / WARP;
    const unsigned int lanes = caller.home->threads.size() - warp * WARP;
    if (!(mask >> caller.lane & 1))
        scheduler->fail("a mask without the lane that calls " + describe(place), place);
    const unsigned int present = lanes < WARP ? mask & ((1u << lanes) - 1) : mask;
    *num_lanes = __builtin_popcount(present);
    return caller.home->warps[warp][mask];
}

void sync_warp(unsigned int mask, Place place)
{
    unsigned int lanes;
    Barrier &barrier = group(mask, place, &lanes).barrier;
    wait_in_order(barrier, lanes, place);
}

const unsigned long *exchange(unsigned int mask, unsigned long value, Place place)
{
    unsigned int lanes;
    Group &lanes_in_mask = group(mask, place, &lanes);
    unsigned long *values = lanes_in_mask.values[lanes_in_mask.barrier.phase % 2];
    values[current->lane] = value;
    wait(lanes_in_mask.barrier, lanes, place);
    return values;
}

void yield(Place place)
{
    CudaThread &caller = self(place);
    caller.place = place;
    scheduler->make_ready(caller);
    Fiber::suspend();
}

void defer_copy(Copy copy) { self("copy_async").open_copies.push_back(copy); }

void close_copies()
{
    CudaThread &caller = self("commit_copies");
    caller.closed_copies.push_back(std::move(caller.open_copies));
    caller.open_copies.clear();
}

bool next_copy(unsigned int groups, Copy *copy)
{
    auto &closed = self("wait_for_copies").closed_copies;
    while (closed.size() > groups && closed.front().empty())
        closed.pop_front();
    if (closed.size() <= groups)
        return false;
    *copy = closed.front().back();
    closed.front().pop_back();
    return true;
}
} // namespace hostcuda
