/* grid.h: many steps of a recurrence in one launch of blocks that all run at a time. `parts` blocks
 * share the recurrent matrix (slice.h) and exchange the inputs of its products (exchange.h); copies
 * of them take sequences of their own. h and c of a unit stay with the thread that computes them.
 * With CLUSTER, `parts` blocks are a cluster, which exchanges through its own shared memory
 * (cluster_exchange.h), and copies need not run at a time.
 *
 * Here is what forward and backward share. The compiling side defines UNIT_PLANES, how many planes
 * of columns a block has at most of each unit. Where blocks share the depth, that is one. */
#include "rows.h"
#include "slice.h"

/* Units that a block has at most, and elements (row of a tile, unit) of a thread. */
#define MOST_UNITS (COLUMN_TILES * COLUMNS / UNIT_PLANES / SHARES)
#define SUM_WORDS 4 /* of a unit, the sum of each share */
#define ELEMENTS ((TILE_ROWS * MOST_UNITS + THREADS - 1) / THREADS)

/* Put a matrix in the order in which blocks load it. */
KERNEL FN(gather_slices)(matrix_slices m)
{
    EACH(i, (int64_t)m.parts * WARPS * m.depth_per_warp * WARP_TILES * 2 * LANES)
        ((words *)m.fragments)[i] = gather_slice_words(&m, (uint32_t)i);
}

/* Words of a copy in a slot: those of the inputs, and of all. */
INLINE int64_t input_words(const block_exchange *g, const matrix_slices *m)
{
    return (int64_t)g->row_tiles * m->depth_tiles * EXCHANGE_TILE;
}

INLINE int64_t copy_words(const block_exchange *g, const matrix_slices *m)
{
    const int64_t sums = (int64_t)g->row_tiles * TILE_ROWS * m->parts * m->units * SUM_WORDS;
    return input_words(g, m) + (SHARES > 1 ? sums : 0);
}

/* Prepare a launch's exchange: nothing is written but what nobody owns, the depth behind the matrix
 * and sums of shares that there are not, which are zero. */
KERNEL FN(clear_exchange)(matrix_slices m, block_exchange g)
{
    const int64_t of_copy = copy_words(&g, &m);
    EACH(i, g.slots * g.copies * of_copy) {
        const int64_t at = i - quotient(i, of_copy) * of_copy, tile = at / EXCHANGE_TILE;
        const int64_t depth_tile = tile - quotient(tile, m.depth_tiles) * m.depth_tiles;
        const int64_t k = depth_tile * DEPTH + at * PACKED % DEPTH;
        const int is_owned =
            at < input_words(&g, &m) ? k < m.k_planes * m.k_width : at % SUM_WORDS < SHARES;
        ((uint32_t *)g.words)[i] = is_owned ? UNWRITTEN : 0;
    }
    EACH(i, g.copies)
        ((uint32_t *)g.arrivals)[i] = 0;
}

/* Which run of a launch a block is of. Where a launch has one, what it is given is at an address
 * that is known when compiling: that needs no registers, and nothing waits for it. */
#if SINGLE
#define RUN 0
#define RUN_ANEW 0
#else
#define RUN blockIdx.y
#define RUN_ANEW anew(blockIdx.y)
#endif

/* A block's place in the grid, and its shared memory. */
typedef struct {
    int part, first_unit, units; /* the units that there are */
    int first;                   /* of its sequences */
    words *fragments;
    real *sums; /* PLACES of (sum_slots, TILE_ROWS, SUMS_ROW), used in turn */
} grid_block;

INLINE grid_block grid_block_of(unsigned char *memory, const block_steps *p, const matrix_slices *m)
{
    grid_block in;
    const int block = (int)blockIdx.x;
    in.part = block % m->parts;
    in.first_unit = in.part * m->units;
    in.units = m->hidden_size - in.first_unit;
    in.units = in.units < 0 ? 0 : in.units < m->units ? in.units : m->units;
    in.first = block / m->parts * p->capacity;
    in.fragments = (words *)memory;
    in.sums = (real *)(in.fragments + WARPS * shared_tiles(m) * 2 * LANES);
    return in;
}

INLINE real *place_of_sums(const grid_block *in, const matrix_slices *m, uint32_t place)
{
    return in->sums + place * m->sum_slots * TILE_ROWS * SUMS_ROW;
}

/* A thread's element of a tile: threads of even lanes have even units, and the next one the same
 * row's next unit. */
typedef struct {
    int row, unit; /* in the tile, in the block */
    int is_there;
} grid_element;

/* Those of a thread, each in one register: a division takes longer than a product. Where half of
 * the threads do, the halves take turns with tiles: one has the cells of a tile while the other is
 * at the products of the next. */
typedef struct {
    int of[ELEMENTS];
} grid_elements;

#define OF_EVEN_TILES (1 << 29)
#define OF_ODD_TILES (1 << 30)

INLINE grid_elements elements_of(const grid_block *in, const matrix_slices *m)
{
    grid_elements all;
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const int thread = anew(threadIdx.x), half = THREADS / 2;
        const int take_turns = TILE_ROWS * m->units <= half;
        const int e = (take_turns ? thread % half : thread) + i * THREADS;
        const int row = e / m->units, unit = e % m->units;
        all.of[i] = row | unit << 10;
        if (row < TILE_ROWS && unit < in->units)
            all.of[i] |= !take_turns     ? OF_EVEN_TILES | OF_ODD_TILES
                         : thread < half ? OF_EVEN_TILES
                                         : OF_ODD_TILES;
    }
    return all;
}

/* Element i of the tile that begins with a row. */
INLINE grid_element element_at(const grid_elements *all, int i, int first_row)
{
    const int of = all->of[i], turn = first_row / TILE_ROWS % 2 ? OF_ODD_TILES : OF_EVEN_TILES;
    const grid_element at = {of & 0x3ff, of >> 10 & 0x7ffff, (of & turn) != 0};
    return at;
}

INLINE waits waits_of(const block_exchange *g)
{
    const waits none_failed = {(uint32_t *)g->fault, g->poll_limit, 0};
    return none_failed;
}

#if CLUSTER
/* Its words and barriers are behind the sums. */
INLINE exchange exchange_of(const block_exchange *g, const matrix_slices *m, const grid_block *in)
{
    exchange x;
    x.words = (uint32_t *)place_of_sums(in, m, PLACES);
    x.row_tiles = g->row_tiles;
    x.depth_tiles = m->depth_tiles;
    x.depth = m->k_planes * m->k_width;
    x.barriers = (uint64_t *)(x.words + SLOTS * x.row_tiles * x.depth_tiles * EXCHANGE_TILE);
    x.parts = m->parts;
    x.phases = 0;
    x.wait = waits_of(g);
    return x;
}

/* Pushes overwrite what has been read. */
INLINE int turn(const exchange *, uint32_t) { return 0; }
INLINE void clear_own(const exchange *, const grid_block *, const matrix_slices *, uint32_t, int) {}
#else
INLINE exchange exchange_of(const block_exchange *g, const matrix_slices *m, const grid_block *)
{
    const int copy = anew(blockIdx.x) / m->parts;
    exchange x;
    x.words = (uint32_t *)g->words + copy * copy_words(g, m);
    x.slot_words = (uint32_t)(g->copies * copy_words(g, m));
    x.depth_tiles = m->depth_tiles;
    x.parts = m->parts;
    x.arrivals = (uint32_t *)g->arrivals + copy;
    x.wait = waits_of(g);
    return x;
}

/* Publish an input of a step. To be called by all lanes of a warp: those that share a word are next
 * to each other, the first one's k is even. */
INLINE void hand_on(const exchange *x, uint32_t step, int row, int k, storage value,
                    int is_published)
{
#if STORAGE == F32
    if (is_published)
        publish(exchange_word(x, step, row, k), factor_of(value));
#else
    const uint32_t next = exchange_lanes((uint32_t)value, 1);
    if (is_published && threadIdx.x % 2 == 0)
        publish(exchange_word(x, step, row, k), value | next << 16);
#endif
}

/* Clear the words that a block owns, when `turn` says so. */
INLINE void clear_own(const exchange *x, const grid_block *in, const matrix_slices *m,
                      uint32_t step, int rows)
{
    const int width = (in->units + PACKED - 1) / PACKED, of_slot = m->k_planes * rows * width;
    for (int i = threadIdx.x; i < ROUND * of_slot; i += THREADS) {
        const int plane = i / width / rows % m->k_planes, row = i / width % rows;
        *exchange_word(x, first_cleared(step) + i / of_slot, row,
                       plane * m->k_width + in->first_unit + i % width * PACKED) = UNWRITTEN;
    }
}
#endif

/* The exchange, found anew where the matrix leaves no registers to keep it in. */
INLINE void find_again(exchange *x, const block_exchange *g, const matrix_slices *m,
                       const grid_block *in)
{
    const exchange kept = *x;
    if (PLACES == 1)
        *x = exchange_of(g, m, in);
    x->wait.failed = kept.wait.failed;
#if CLUSTER
    x->phases = kept.phases;
#endif
}

#if SHARES > 1
/* --- blocks that share the depth ---------------------------------------------------------------
 *
 * Each has sums of the same columns, and the cells of its part of them. They exchange these sums as
 * they do inputs, in the slot of the step that makes them. */

/* The words of a row and unit, one of each share. */
INLINE uint32_t *sum_words(const exchange *x, const block_exchange *g, const matrix_slices *m,
                           uint32_t step, int row, int unit)
{
    const uint64_t slot = (uint64_t)(step % SLOTS) * x->slot_words + input_words(g, m);
    return x->words + slot + (uint32_t)((row * m->parts * m->units + unit) * SUM_WORDS);
}

/* Publish a block's sums of a tile of rows. */
INLINE void hand_on_sums(const real *sums, const exchange *x, const block_exchange *g,
                         const matrix_slices *m, int part, uint32_t step, int first_row, int rows)
{
    const int units = SHARES * m->units;
    for (int i = threadIdx.x; i < TILE_ROWS * units; i += THREADS) {
        const int row = i / units, unit = part / SHARES * units + i % units;
        if (row < rows)
            publish(sum_words(x, g, m, step, first_row + row, unit) + part % SHARES,
                    bits_of_f32(slice_product(sums, m, row, i % units)));
    }
}

/* The product of a row with a unit of the matrix: of all shares, in their order. */
INLINE real product_of_shares(exchange *x, const block_exchange *g, const matrix_slices *m,
                              uint32_t step, int row, int unit)
{
    const uint32_t *from = sum_words(x, g, m, step, row, unit);
    uint32_t got[SUM_WORDS];
    load_relaxed_words(got, from);
    await_words(x, got, from);
    real total = zero;
    for (int share = 0; share < SHARES; share++)
        total += f32_of_bits(got[share]);
    return total;
}

/* As `clear_own`. */
INLINE void clear_own_sums(const exchange *x, const block_exchange *g, const matrix_slices *m,
                           int part, uint32_t step, int rows)
{
    const int units = SHARES * m->units;
    for (int i = threadIdx.x; i < ROUND * rows * units; i += THREADS)
        sum_words(x, g, m, first_cleared(step) + i / units / rows, i / units % rows,
                  part / SHARES * units + i % units)[part % SHARES] = UNWRITTEN;
}
#endif
