/* exchange.h: how the blocks of a launch, all of them running at a time, hand each other the inputs
 * of the next step.
 *
 * There are SLOTS arrays of inputs (inputs.h); step s reads slot s % SLOTS. A word is UNWRITTEN,
 * NaN that `publish` never stores, until the one block that owns it publishes it: each word
 * proves its own arrival, so polls need no order between words and are relaxed, as is the store.
 * What is read is either UNWRITTEN or the word of this step, for the slots are cleared in between,
 * in rounds of ROUND steps on three thirds of the slots. In round r, blocks arrive, once they have
 * read all of round r - 1, and cleared what they own of round r - 2; wait, half a round later,
 * until all blocks have arrived; clear what they own of round r - 1. Arriving releases and waiting
 * acquires, with a barrier of the block on the inner side of each. So all reads of round r - 1 come
 * before the slots are cleared, and the clearing before they are read again, in round r + 2:
 * clearing may be a plain store. Nobody arrives twice before all have arrived once, for it has
 * waited for them. Waits end, see waits.h. */
#ifndef MIOPY_EXCHANGE_H
#define MIOPY_EXCHANGE_H

#include "inputs.h"
#include "waits.h"

#define ROUND 8
#define SLOTS (3 * ROUND)
#define UNWRITTEN 0xffffffffu
/* Tiles of inputs that a warp has asked for: each time it waits it waits as long as for one. What
 * there are registers for. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define AHEAD (COLUMN_TILES > 4 ? 2 : 4)
#elif COLUMN_TILES > 4
#define AHEAD 2
#elif !SINGLE
#define AHEAD 4
#elif COLUMN_TILES == 1
#define AHEAD (STORAGE == F32 ? 12 : 16)
#else
#define AHEAD (COLUMN_TILES == 3 ? 6 : 8)
#endif

#ifdef __CUDA_ARCH__
/* Four words, each by itself. */
INLINE void load_relaxed_words(uint32_t *to, const uint32_t *from)
{
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "l"(from));
}

INLINE uint32_t load_acquire(const uint32_t *from)
{
    uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

INLINE void add_release(uint32_t *to, uint32_t value)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
#endif

/* A block's end of an exchange. */
typedef struct {
    uint32_t *words;     /* of slot 0, for the rows of the blocks that exchange */
    uint32_t slot_words; /* from one slot to the next */
    int depth_tiles;
    uint32_t parts;     /* how many blocks exchange */
    uint32_t *arrivals; /* what they count together */
    waits wait;
} exchange;

/* To be called by all threads of all blocks before anything else, and when all is done. */
INLINE void begin_exchange(const exchange *) { __syncthreads(); }
INLINE void end_exchange(const exchange *) {}

/* The word of a row and of PACKED k, the first of which this is. */
INLINE uint32_t *exchange_word(const exchange *x, uint32_t step, int row, int k)
{
    const uint64_t slot = (uint64_t)(step % SLOTS) * x->slot_words;
    return x->words + (slot + input_word(row, k, x->depth_tiles));
}

INLINE void publish(uint32_t *word, uint32_t value)
{
    store_relaxed(word, value == UNWRITTEN ? value ^ 0x80008000 : value);
}

INLINE int is_unwritten(const uint32_t *words)
{
    return words[0] == UNWRITTEN || words[1] == UNWRITTEN || words[2] == UNWRITTEN ||
           words[3] == UNWRITTEN;
}

/* All threads of a block are about to take words of some rows: each is waited for by itself. */
INLINE void await_rows(exchange *, uint32_t, int, int) {}

INLINE void load_words(uint32_t *to, const uint32_t *from) { load_relaxed_words(to, from); }

/* Load four words until all are there, after a first load. */
INLINE void await_words(exchange *x, uint32_t *words, const uint32_t *from)
{
    uint32_t polls = 0;
    while (is_unwritten(words) && goes_on(&x->wait, &polls))
        load_words(words, from);
}

/* The first `count` of AHEAD times four words, so many `apart`, when all are there: what is missing
 * is asked for together, or each of them would take a read of its own. */
INLINE void take_words(exchange *x, uint32_t (*to)[4], const uint32_t *from, int apart, int count)
{
    uint32_t polls = 0;
#pragma unroll
    for (int j = 0; j < AHEAD; j++)
        if (j < count)
            load_words(to[j], from + j * apart);
    for (int are_missing = 1; are_missing && goes_on(&x->wait, &polls);) {
        are_missing = 0;
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
            if (j < count && is_unwritten(to[j])) {
                load_words(to[j], from + j * apart);
                are_missing = 1;
            }
    }
}

/* To be called by all threads of all blocks before each step, from 0 on. Whether the slots of the
 * ROUND steps before this step's round are to be cleared now. */
INLINE int turn(exchange *x, uint32_t step)
{
    const uint32_t round = step / ROUND, polled = x->parts * round;
    uint32_t polls = 0;
    if (!round || (step % ROUND && step % ROUND != ROUND / 2))
        return 0;
    if (step % ROUND == 0) {
        __syncthreads();
        if (threadIdx.x == 0)
            add_release(x->arrivals, 1u);
        return 0;
    }
    if (threadIdx.x == 0)
        while (load_acquire(x->arrivals) < polled && goes_on(&x->wait, &polls)) {
        }
    __syncthreads();
    return 1;
}

/* The step that reads the first of those slots; the others follow. */
INLINE uint32_t first_cleared(uint32_t step) { return (step / ROUND - 1) * ROUND; }

#endif
