/* cluster_exchange.h: how the blocks of a cluster hand each other the inputs of the next step,
 * through their shared memory; the same functions as in exchange.h.
 *
 * Each block has two slots of inputs (inputs.h); step s reads slot s % 2. What a block makes for
 * step s it pushes into that slot of every block, 16 bytes at a time, of one row and 8 units. A
 * slot has a barrier for each tile of rows, which counts the bytes that have arrived: a phase of it
 * is over when its own block has said how many there are to be, and so many are there. Bytes that
 * come before they are spoken of count, too.
 *
 * Nothing is pushed where it is still to be read. For a block that pushes a tile of rows for step
 * s + 2 has multiplied that tile in step s + 1; for this it has waited for what every block made
 * for step s + 1; and each made that behind a barrier of its threads, all of which had then read
 * the tile of step s, from the same slot. If a tile has no rows in step s + 1, then it has none in
 * step s or none in step s + 2, for rows only begin, or only end. By the same argument a push for
 * step s + 2 meets a barrier whose phase of step s is over, and phases of a barrier alternate.
 *
 * Whoever waits acquires what pushes release. All blocks of a cluster meet at its start, before
 * anybody pushes, and at its end, when each has waited for all that it is pushed: unless waits were
 * in vain, no push finds a block gone.
 */
#ifndef MIOPY_CLUSTER_EXCHANGE_H
#define MIOPY_CLUSTER_EXCHANGE_H

#include "inputs.h"
#include "waits.h"

#define SLOTS 2
#define MOST_ROW_TILES 16
#define AHEAD 1 /* tiles of inputs that a warp has asked for */
#define PUSHED_UNITS 8
#define UNWRITTEN 0xffffffffu
#define POLL_NANOSECONDS 1000 /* that a poll takes at most */

#ifdef __CUDA_ARCH__
INLINE uint32_t shared_address(const void *pointer)
{
    uint32_t address;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }"
        : "=r"(address)
        : "l"(pointer));
    return address;
}

/* Where another block of the cluster has what lies at an address of this one. */
INLINE uint32_t address_in_block(uint32_t address, uint32_t block)
{
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
    return there;
}

/* A barrier of one thread, for all blocks that meet at sync_cluster behind this. */
INLINE void initialize_barrier(uint64_t *barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier))
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* The phase is over when so many bytes have arrived. */
INLINE void expect_bytes(uint64_t *barrier, uint32_t nbytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(nbytes)
        : "memory");
}

/* Whether the phase of that parity, this one or the one before, is over. */
INLINE int is_phase_over(uint64_t *barrier, uint32_t parity)
{
    uint32_t is_over;
    asm volatile("{ .reg .pred p;\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2, %3;\n"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(is_over)
                 : "r"(shared_address(barrier)), "r"(parity), "r"(POLL_NANOSECONDS)
                 : "memory");
    return is_over;
}

/* Four words to where another block has what lies at `to`, and 16 bytes to its barrier. */
INLINE void push_words(uint32_t *to, const uint32_t *words, uint64_t *barrier, uint32_t block)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
                 "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(address_in_block(shared_address(to), block)),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]),
                 "r"(address_in_block(shared_address(barrier), block))
                 : "memory");
}

INLINE void sync_cluster(void)
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::
                     : "memory");
}
#endif

/* A block's end of an exchange; in its shared memory at the same place as all others'. */
typedef struct {
    uint32_t *words;    /* (SLOTS, row_tiles, depth_tiles, EXCHANGE_TILE) */
    uint64_t *barriers; /* (SLOTS, row_tiles) */
    int row_tiles, depth_tiles;
    int depth;       /* that is pushed; behind it are zeros */
    uint32_t parts;  /* how many blocks exchange */
    uint32_t phases; /* a bit for each barrier: the parity of the next one to be waited for */
    waits wait;
} exchange;

/* The word of a row and of k and k + 1, for an even k. */
INLINE uint32_t *exchange_word(const exchange *x, uint32_t step, int row, int k)
{
    const int slot_tiles = x->row_tiles * x->depth_tiles;
    return x->words + (int)(step % SLOTS) * slot_tiles * EXCHANGE_TILE +
           input_word(row, k, x->depth_tiles);
}

INLINE uint64_t *barrier_of(const exchange *x, uint32_t step, int row_tile)
{
    return x->barriers + (int)(step % SLOTS) * x->row_tiles + row_tile;
}

/* To be called by all threads of all blocks before anything else, and when all is done. */
INLINE void begin_exchange(exchange *x)
{
    const int words = SLOTS * x->row_tiles * x->depth_tiles * EXCHANGE_TILE;
    for (int i = threadIdx.x; i < words; i += THREADS) {
        const int depth_tile = i / EXCHANGE_TILE % x->depth_tiles;
        if (depth_tile * EXCHANGE_DEPTH + i % (EXCHANGE_DEPTH / 2) * 2 >= x->depth)
            x->words[i] = 0;
    }
    if (threadIdx.x == 0)
        for (int i = 0; i < SLOTS * x->row_tiles; i++)
            initialize_barrier(x->barriers + i);
    sync_cluster();
}

INLINE void end_exchange(const exchange *) { sync_cluster(); }

/* Push an input of a step together with those of the 7 lanes beside it: a lane to every eighth
 * block. k is that of lane 0 and the lane's number modulo 8; those without a unit have 0. To be
 * called by all lanes of a warp. */
INLINE void hand_on(const exchange *x, uint32_t step, int row, int k, storage value,
                    int is_published)
{
    const uint32_t lane = threadIdx.x % LANES, first = lane % PUSHED_UNITS;
    const uint32_t next = exchange_lanes((uint32_t)value, 1);
    const uint32_t own = lane & 1 ? next | (uint32_t)value << 16 : value | next << 16;
    const uint32_t beside = exchange_lanes(own, 2);
    const uint32_t low = lane & 2 ? beside : own, high = lane & 2 ? own : beside;
    const uint32_t other_low = exchange_lanes(low, 4), other_high = exchange_lanes(high, 4);
    const uint32_t words[] = {lane & 4 ? other_low : low, lane & 4 ? other_high : high,
                              lane & 4 ? low : other_low, lane & 4 ? high : other_high};
    if (!(__ballot_sync(~0u, is_published) >> (lane - first) & 0xff))
        return;
    uint32_t *to = exchange_word(x, step, row, k - (int)first);
    for (uint32_t block = first; block < x->parts; block += PUSHED_UNITS)
        push_words(to, words, barrier_of(x, step, row / TILE_ROWS), block);
}

/* All threads of a block are about to take words of the first `rows` rows of a tile, which they all
 * do in the same order. */
INLINE void await_rows(exchange *x, uint32_t step, int row_tile, int rows)
{
    const uint32_t number = step % SLOTS * MOST_ROW_TILES + row_tile;
    uint64_t *barrier = barrier_of(x, step, row_tile);
    uint32_t polls = 0;
    if (threadIdx.x == 0 && !x->wait.failed)
        expect_bytes(barrier, (rows < TILE_ROWS ? rows : TILE_ROWS) * x->depth * 2);
    while (!is_phase_over(barrier, x->phases >> number & 1) && goes_on(&x->wait, &polls)) {
    }
    x->phases ^= 1u << number;
}

/* What is loaded at once. */
typedef struct __align__(16) {
    uint32_t word[4];
} pushed_words;

INLINE void load_words(uint32_t *to, const uint32_t *from)
{
    const pushed_words got = *(const pushed_words *)from;
    for (int i = 0; i < 4; i++)
        to[i] = got.word[i];
}

/* Four words, loaded before; NaN if they may not have arrived. */
INLINE void await_words(const exchange *x, uint32_t *words, const uint32_t *)
{
    for (int i = 0; i < 4; i++)
        words[i] = x->wait.failed ? UNWRITTEN : words[i];
}

/* The first `count` of AHEAD times four words, so many `apart`. */
INLINE void take_words(exchange *x, uint32_t (*to)[4], const uint32_t *from, int apart, int count)
{
#pragma unroll
    for (int j = 0; j < AHEAD; j++)
        if (j < count) {
            load_words(to[j], from + j * apart);
            await_words(x, to[j], from);
        }
}

#endif
