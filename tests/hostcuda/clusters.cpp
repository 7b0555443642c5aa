/* clusters.cpp: pushes between the blocks of a cluster, and barriers that count their bytes. */
#include <cstring>

#include "scheduler.h"

namespace hostcuda
{
/* What a barrier's 8 bytes hold. A phase is over when its thread has said how many bytes are to
 * come, and none is missing. */
struct BarrierState {
    std::int32_t missing; /* bytes; negative when more have come than are spoken of */
    std::uint16_t mark;
    std::uint8_t is_expecting, phase;
};
static_assert(sizeof(BarrierState) == sizeof(ByteBarrier), "in its place");

static const std::uint16_t INITIALIZED = 0xba44;

static BarrierState &state_of(ByteBarrier *barrier, const Place &place)
{
    BarrierState &state = *reinterpret_cast<BarrierState *>(barrier);
    if (state.mark != INITIALIZED)
        scheduler->fail(describe(place) + " meets a barrier that is not initialized", place);
    return state;
}

/* As in `Barrier`: a tag for each parity of phases. */
static char &tag_of(ByteBarrier *barrier, unsigned int parity)
{
    return reinterpret_cast<char *>(barrier)[parity];
}

static void advance(BarrierState &state)
{
    if (state.is_expecting && !state.missing) {
        state.is_expecting = 0;
        state.phase ^= 1;
    }
}

void initialize_barrier(ByteBarrier *barrier)
{
    *reinterpret_cast<BarrierState *>(barrier) = {0, INITIALIZED, 0, 0};
}

void expect_bytes(ByteBarrier *barrier, unsigned int nbytes, Place place)
{
    BarrierState &state = state_of(barrier, place);
    if (state.is_expecting)
        scheduler->fail(describe(place) + " before the phase is over", place);
    release(tag_of(barrier, state.phase));
    state.missing += static_cast<std::int32_t>(nbytes);
    state.is_expecting = 1;
    advance(state);
}

void complete_bytes(ByteBarrier *barrier, unsigned int nbytes, Place place)
{
    BarrierState &state = state_of(barrier, place);
    release(tag_of(barrier, state.phase));
    state.missing -= static_cast<std::int32_t>(nbytes);
    advance(state);
}

bool is_phase_over(ByteBarrier *barrier, unsigned int parity, Place place)
{
    BarrierState &state = state_of(barrier, place);
    scheduler->deliver();
    yield(place);
    if (state.phase == parity)
        return false;
    acquire(tag_of(barrier, parity));
    return true;
}

void *address_in_block(void *address, unsigned int block, Place place)
{
    const CudaThread &caller = self(place);
    Cluster &cluster = *caller.home->cluster;
    if (block >= cluster.blocks.size())
        scheduler->fail(describe(place) + " to a block that the cluster does not have", place);
    if (!cluster.barrier.phase)
        scheduler->fail(describe(place) + " to a block that may not have begun", place);
    unsigned char *there = cluster.blocks[block]->shared.get();
    if (!there)
        scheduler->fail(describe(place) + " to a block that has left", place);
    return there + (static_cast<unsigned char *>(address) - caller.shared);
}

void defer_push(unsigned int *to, const unsigned int *words, ByteBarrier *barrier,
                unsigned int block, Place place)
{
    Push push;
    push.to = static_cast<unsigned int *>(address_in_block(to, block, place));
    push.barrier = static_cast<ByteBarrier *>(address_in_block(barrier, block, place));
    push.block = self(place).home->cluster->blocks[block];
    std::memcpy(push.words, words, sizeof(push.words));
    scheduler->pushes.push_back(push);
}

bool Scheduler::deliver()
{
    static const Place ARRIVAL("a push");
    if (pushes.empty())
        return false;
    std::swap(pushes[settings.seed ? draw() % pushes.size() : 0], pushes.back());
    const Push push = pushes.back();
    pushes.pop_back();
    if (!push.block->shared)
        fail("a push to a block that has left", ARRIVAL);
    std::memcpy(push.to, push.words, sizeof(push.words));
    complete_bytes(push.barrier, sizeof(push.words), ARRIVAL);
    return true;
}
} // namespace hostcuda
