/* slice.h: a matrix spread over blocks, and a block's products of a few rows with its slice, made
 * as the inputs arrive from other blocks.
 *
 * A block has `units` units of each plane of columns, one plane behind the other, padded with zeros
 * to COLUMN_TILES tiles of COLUMNS. Along the depth, warp w has the tiles w, w + WARPS, ..., of
 * whose tiles of columns it has the first RESIDENT in registers, the others in shared memory. So a
 * warp needs only its own inputs and begins as soon as they are there; the warps' sums are added up
 * at the end.
 *
 * A lane takes 8 inputs of one row at once, 16 bytes: those of depth 8 * (lane % 4) and on, of row
 * lane / 4. Products do not care which k is called which, as long as the matrix agrees.
 *
 * The compiling side defines COLUMN_TILES, RESIDENT, how many tiles a warp keeps in registers, and
 * CLUSTER, 1 if the blocks that share the matrix are a cluster. */
#ifndef MIOPY_SLICE_H
#define MIOPY_SLICE_H

#include "block.h"
#include "inputs.h"
#include "launch.h"
#include "waits.h"

#if CLUSTER
#include "cluster_exchange.h"
#else
#include "exchange.h"
#endif

#define COLUMNS 16
#define DEPTH EXCHANGE_DEPTH
#define TILE_ROWS EXCHANGE_ROWS
#define RESIDENT_DEPTH ((RESIDENT + COLUMN_TILES - 1) / COLUMN_TILES)
#define PARTS (COLUMN_TILES > 2 ? 1 : 2)      /* sums per tile: enough to keep the units busy */
#define SUMS_ROW (COLUMN_TILES * COLUMNS + 4) /* so that lanes use different banks */

/* What a lane has of half a tile; in memory, those of all lanes are one behind the other. */
typedef struct __align__(16) {
    uint32_t word[4];
} words;

typedef struct {
    words half[2];
} fragment;

INLINE uint32_t bits_of_slice(const matrix_slices *m, int part, int k, int column)
{
    const int k_plane = k / m->k_width, k_unit = k % m->k_width;
    const int n_plane = column / m->units, n_unit = part * m->units + column % m->units;
    if (k_plane >= m->k_planes || k_unit >= m->hidden_size || n_plane >= m->n_planes ||
        n_unit >= m->hidden_size)
        return 0;
    return ((const storage *)m->matrix)[(k_plane + n_plane) * m->plane_stride +
                                        k_unit * m->k_stride + n_unit * m->n_stride];
}

/* Words `at` of all fragments: (parts, WARPS, depth_per_warp, COLUMN_TILES, half, lane). Word i is
 * of column lane / 4 + 8 * (i % 2). */
INLINE words gather_slice_words(const matrix_slices *m, int64_t at)
{
    const int lane = (int)(at % LANES), half = (int)(at / LANES % 2);
    const int64_t tile = at / LANES / 2, depth = tile / COLUMN_TILES;
    const int column_tile = (int)(tile % COLUMN_TILES), j = (int)(depth % m->depth_per_warp);
    const int warp = (int)(depth / m->depth_per_warp % WARPS);
    const int part = (int)(depth / m->depth_per_warp / WARPS);
    const int first_k = (j * WARPS + warp) * DEPTH + lane % 4 * 8 + half * 4;
    words gathered;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int k = first_k + i / 2 * 2, column = column_tile * COLUMNS + lane / 4 + i % 2 * 8;
        gathered.word[i] = bits_of_slice(m, part, k, column) | bits_of_slice(m, part, k + 1, column)
                                                                   << 16;
    }
    return gathered;
}

/* What a lane has of a tile that begins there. */
INLINE fragment read_fragment(const words *tile, int lane)
{
    const fragment of = {{tile[lane], tile[LANES + lane]}};
    return of;
}

/* Tiles that a warp has in shared memory. */
INLINE int shared_tiles(const matrix_slices *m)
{
    const int tiles = m->depth_per_warp * COLUMN_TILES;
    return tiles > RESIDENT ? tiles - RESIDENT : 0;
}

/* Read a part's tiles into registers and shared memory, each warp its own. */
INLINE void load_slice(const matrix_slices *m, int part, fragment *resident, words *shared)
{
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES, others = shared_tiles(m);
    const int64_t tiles = (int64_t)m->depth_per_warp * COLUMN_TILES;
    const words *own = (const words *)m->fragments + (part * WARPS + warp) * tiles * 2 * LANES;
#pragma unroll
    for (int i = 0; i < RESIDENT; i++)
        if (i < tiles)
            resident[i] = read_fragment(own + i * 2 * LANES, lane);
    for (int i = lane; i < others * 2 * LANES; i += LANES)
        shared[warp * others * 2 * LANES + i] = own[RESIDENT * 2 * LANES + i];
}

/* Sums of columns lane / 4 and 8 more of each tile, each with two rows. */
typedef struct {
    float part[COLUMN_TILES][PARTS][4];
} slice_sums;

INLINE void multiply_tile(slice_sums *sum, int column_tile, const fragment *of, const words *inputs)
{
#pragma unroll
    for (int half = 0; half < 2; half++)
        multiply_matrices(sum->part[column_tile][half % PARTS], of->half[half].word,
                          inputs->word[2 * half], inputs->word[2 * half + 1]);
}

/* A lane's inputs for a tile of rows, in a warp's tiles of depth; without a row, zeros. */
typedef struct {
    const uint32_t *first;
    int tiles, has_row;
    words ahead[AHEAD];
} slice_inputs;

INLINE words first_load(const slice_inputs *in, int j)
{
    words got = {{0, 0, 0, 0}};
    if (in->has_row)
        load_words(got.word, in->first + (int64_t)j * WARPS * EXCHANGE_TILE);
    return got;
}

/* The warp's inputs j, `at` in `ahead`, when they have arrived; later ones are asked for. */
INLINE words next_inputs(slice_inputs *in, exchange *x, int j, int at)
{
    words got = in->ahead[at];
    if (in->has_row)
        await_words(x, got.word, in->first + (int64_t)j * WARPS * EXCHANGE_TILE);
    if (j + AHEAD < in->tiles)
        in->ahead[at] = first_load(in, j + AHEAD);
    __syncwarp();
    return got;
}

/* Add up a warp's products of the inputs that `in` describes. */
INLINE void multiply_arriving(slice_sums *sum, slice_inputs *in, exchange *x,
                              const fragment *resident, const words *shared)
{
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int j = 0; j < AHEAD; j++)
        if (j < in->tiles)
            in->ahead[j] = first_load(in, j);
#pragma unroll
    for (int j = 0; j < RESIDENT_DEPTH; j++)
        if (j < in->tiles) {
            const words inputs = next_inputs(in, x, j, j % AHEAD);
#pragma unroll
            for (int tile = 0; tile < COLUMN_TILES; tile++) {
                const int at = j * COLUMN_TILES + tile;
                if (at < RESIDENT) {
                    multiply_tile(sum, tile, &resident[at], &inputs);
                } else {
                    const fragment of = read_fragment(shared + (at - RESIDENT) * 2 * LANES, lane);
                    multiply_tile(sum, tile, &of, &inputs);
                }
            }
        }
    for (int first = RESIDENT_DEPTH; first < in->tiles; first += AHEAD)
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            if (first + i < in->tiles) {
                const words inputs = next_inputs(in, x, first + i, (RESIDENT_DEPTH + i) % AHEAD);
#pragma unroll
                for (int tile = 0; tile < COLUMN_TILES; tile++) {
                    const int at = (first + i) * COLUMN_TILES + tile - RESIDENT;
                    const fragment of = read_fragment(shared + at * 2 * LANES, lane);
                    multiply_tile(sum, tile, &of, &inputs);
                }
            }
}

/* Add a warp's sums to, or put them in, (TILE_ROWS, SUMS_ROW). */
INLINE void store_slice_sums(const slice_sums *sum, real *to, int add)
{
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int tile = 0; tile < COLUMN_TILES; tile++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = lane % 4 * 2 + i % 2, column = tile * COLUMNS + lane / 4 + i / 2 * 8;
            real *at = to + row * SUMS_ROW + column, total = sum->part[tile][0][i];
            if (PARTS > 1)
                total += sum->part[tile][PARTS - 1][i];
            *at = add ? *at + total : total;
        }
}

/* The products of a tile of rows, to sums (WARPS / folds, TILE_ROWS, SUMS_ROW), which the block may
 * read when this is done. `rows` of the tile have inputs in `step`. */
INLINE void multiply_slice(real *sums, const matrix_slices *m, exchange *x, uint32_t step,
                           int row_tile, int rows, const fragment *resident, const words *shared)
{
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int slots = WARPS / m->folds;
    slice_sums sum = slice_sums();
    slice_inputs in;
    await_rows(x, step, row_tile, rows);
    in.first = exchange_word(x, step, row_tile * TILE_ROWS, 0) + warp * EXCHANGE_TILE + lane * 4;
    in.tiles = (m->depth_tiles - warp + WARPS - 1) / WARPS;
    in.has_row = lane / 4 < rows;
    multiply_arriving(&sum, &in, x, resident, shared + warp * shared_tiles(m) * 2 * LANES);
    for (int fold = m->folds - 1; fold >= 0; fold--) {
        if (warp / slots == fold)
            store_slice_sums(&sum, sums + warp % slots * TILE_ROWS * SUMS_ROW, fold < m->folds - 1);
        __syncthreads();
    }
}

/* The product of a row of the tile with a column. A wide slice leaves no registers for more sums at
 * a time, and has few. */
INLINE real slice_product(const real *sums, const matrix_slices *m, int row, int column)
{
    real total = 0;
#pragma unroll(COLUMN_TILES > 8 ? 2 : 4)
    for (int slot = 0; slot < WARPS / m->folds; slot++)
        total += sums[(slot * TILE_ROWS + row) * SUMS_ROW + column];
    return total;
}

#endif
