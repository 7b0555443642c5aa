/* grid.h: many steps of a recurrence in one launch of blocks that all run at a time. `parts` blocks
 * share the recurrent matrix (slice.h) and exchange the inputs of its products (exchange.h); copies
 * of them take sequences of their own. h and c of a unit stay with the thread that computes them.
 * With CLUSTER, `parts` blocks are a cluster, which exchanges through its own shared memory
 * (cluster_exchange.h), and copies need not run at a time.
 *
 * Here is what forward and backward share. The compiling side defines UNIT_PLANES, how many planes
 * of columns a block has at most of each unit. */
#include "rows.h"
#include "slice.h"

/* Units that a block has at most, and elements (row of a tile, unit) of a thread. */
#define MOST_UNITS (COLUMN_TILES * COLUMNS / UNIT_PLANES)
#define ELEMENTS ((TILE_ROWS * MOST_UNITS + THREADS - 1) / THREADS)

/* Put a matrix in the order in which blocks load it. */
KERNEL FN(gather_slices)(matrix_slices m)
{
    EACH(i, (int64_t)m.parts * WARPS * m.depth_per_warp * COLUMN_TILES * 2 * LANES)
        ((words *)m.fragments)[i] = gather_slice_words(&m, i);
}

/* Prepare a launch's exchange: nothing is written but what nobody owns, the depth behind the
 * matrix, which is zero. */
KERNEL FN(clear_exchange)(matrix_slices m, block_exchange g)
{
    const int64_t tiles = (int64_t)g.slots * g.copies * g.row_tiles * m.depth_tiles;
    EACH(i, tiles * EXCHANGE_TILE) {
        const int64_t depth_tile = i / EXCHANGE_TILE % m.depth_tiles;
        const int64_t k = depth_tile * DEPTH + i % (DEPTH / 2) * 2;
        ((uint32_t *)g.words)[i] = k < m.k_planes * m.k_width ? UNWRITTEN : 0;
    }
    EACH(i, g.copies)
        ((uint32_t *)g.arrivals)[i] = 0;
}

/* A block's place in the grid, and its shared memory. */
typedef struct {
    int part, first_unit, units; /* the units that there are */
    int64_t first;               /* of its sequences */
    words *fragments;
    real *sums; /* two of (WARPS / folds, TILE_ROWS, SUMS_ROW), used in turn */
} grid_block;

INLINE grid_block grid_block_of(unsigned char *memory, const block_steps *p, const matrix_slices *m)
{
    grid_block in;
    in.part = (int)blockIdx.x % m->parts;
    in.first_unit = in.part * m->units;
    in.units = m->hidden_size - in.first_unit;
    in.units = in.units < m->units ? in.units : m->units;
    in.first = (int64_t)(blockIdx.x / m->parts) * p->capacity;
    in.fragments = (words *)memory;
    in.sums = (real *)(in.fragments + WARPS * shared_tiles(m) * 2 * LANES);
    return in;
}

INLINE real *sums_of_tile(const grid_block *in, const matrix_slices *m, uint32_t count)
{
    return in->sums + count % 2 * (WARPS / m->folds) * TILE_ROWS * SUMS_ROW;
}

/* A thread's element of a tile: threads of even lanes have even units, and the next one the same
 * row's next unit. */
typedef struct {
    int row, unit; /* in the tile, in the block */
    int is_there;
} grid_element;

INLINE void place_elements(grid_element *to, const grid_block *in, const matrix_slices *m)
{
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        const int e = threadIdx.x + i * THREADS;
        to[i].row = e / m->units;
        to[i].unit = e % m->units;
        to[i].is_there = to[i].row < TILE_ROWS && to[i].unit < in->units;
    }
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
    x.words = (uint32_t *)sums_of_tile(in, m, 1) + (WARPS / m->folds) * TILE_ROWS * SUMS_ROW;
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
    const int copy = blockIdx.x / m->parts;
    const int64_t copy_words = (int64_t)g->row_tiles * m->depth_tiles * EXCHANGE_TILE;
    exchange x;
    x.words = (uint32_t *)g->words + copy * copy_words;
    x.slot_words = g->copies * copy_words;
    x.depth_tiles = m->depth_tiles;
    x.parts = m->parts;
    x.arrivals = (uint32_t *)g->arrivals + copy;
    x.wait = waits_of(g);
    return x;
}

/* Publish an input of a step, and with it the next lane's; k is even in even lanes. To be called by
 * all lanes of a warp. */
INLINE void hand_on(const exchange *x, uint32_t step, int row, int k, storage value,
                    int is_published)
{
    const uint32_t next = exchange_lanes((uint32_t)value, 1);
    if (is_published && threadIdx.x % 2 == 0)
        publish(exchange_word(x, step, row, k), value | next << 16);
}

/* Clear the words that a block owns, when `turn` says so. */
INLINE void clear_own(const exchange *x, const grid_block *in, const matrix_slices *m,
                      uint32_t step, int rows)
{
    const int pairs = (in->units + 1) / 2, of_slot = m->k_planes * rows * pairs;
    for (int i = threadIdx.x; i < ROUND * of_slot; i += THREADS) {
        const int plane = i / pairs / rows % m->k_planes, row = i / pairs % rows;
        *exchange_word(x, first_cleared(step) + i / of_slot, row,
                       plane * m->k_width + in->first_unit + i % pairs * 2) = UNWRITTEN;
    }
}
#endif
