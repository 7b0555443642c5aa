/* slice.h: a matrix spread over blocks, and a block's products of a few rows with its slice, made
 * as the inputs arrive from other blocks.
 *
 * SHARES blocks have the same columns: `units` units for each of them, of each plane, one plane
 * behind the other, padded with zeros to COLUMN_TILES tiles of COLUMNS. Each of these blocks has a
 * share of the depth, as many tiles as the others, of which each warp has every DEPTH_WARPS-th:
 * COLUMN_WARPS warps have the same ones and divide the columns, whose sums take registers, too. The
 * first RESIDENT tiles of a warp are in registers, the others in shared memory. So a warp needs
 * only its own inputs and begins as soon as they are there; the warps' sums are added up at the
 * end.
 *
 * A lane takes 4 words of one row's inputs at once, 16 bytes: those from 4 * (lane % 4) on, of row
 * lane / 4. Products do not care which k is called which, as long as the matrix agrees.
 *
 * Factors of float32 are rounded when the matrix is gathered and when inputs are published: to
 * TF32, 11 bits; or, if they are SPLIT, to the 22 bits of two such parts. Of the four products of
 * parts the smallest is left out, so each product is off by 2^-20 + 2^-21 of itself at most, and
 * random ones on average by less than what float sums round off. Parts of TF32 have float's range,
 * unlike those of float16: gradients may be of any size, and relu's states. Two parts of bfloat16
 * would be 20 times less exact, and three take half as much space again. Where the sum of the large
 * parts is not finite, it is the sum: the others have infinity less infinity in them.
 *
 * The compiling side defines COLUMN_TILES; RESIDENT, how many tiles a warp keeps in registers;
 * SPLIT; SHARES; PLACES, how many a block has for sums; COLUMN_WARPS; TILE_ROWS, of the 8 rows that
 * the matrix instruction takes; SINGLE, 1 if a launch has one run, as it must where PLACES is 1;
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
#define DEPTH_WARPS (WARPS / COLUMN_WARPS)       /* with the same columns */
#define WARP_TILES (COLUMN_TILES / COLUMN_WARPS) /* of columns, of a warp */
#define RESIDENT_DEPTH ((RESIDENT + WARP_TILES - 1) / WARP_TILES)
/* Sums per tile: enough to keep the units busy, or one of the large parts and one of the others. */
#define PARTS (WARP_TILES > 2 && !SPLIT ? 1 : 2)
#define SUMS_ROW (COLUMN_TILES * COLUMNS + 4) /* so that lanes use different banks */

/* What a lane has of half a tile; in memory, those of all lanes are one behind the other. */
typedef struct __align__(16) {
    uint32_t word[4];
} words;

typedef struct {
    words half[2];
} fragment;

/* A unit of a plane: what k is, and what a column is. To gather the matrix is mostly to find these
 * out, so it divides as seldom as it can, and 32 bits. */
typedef struct {
    uint32_t plane, unit;
} plane_unit;

INLINE plane_unit unit_of_k(const matrix_slices *m, uint32_t k)
{
    const plane_unit of = {k / (uint32_t)m->k_width, k % (uint32_t)m->k_width};
    return of;
}

INLINE plane_unit unit_of_column(const matrix_slices *m, uint32_t part, uint32_t column)
{
    const uint32_t units = SHARES * (uint32_t)m->units;
    const plane_unit of = {column / units, part / SHARES * units + column % units};
    return of;
}

INLINE storage slice_element(const matrix_slices *m, plane_unit k, plane_unit n)
{
    const uint32_t hidden_size = (uint32_t)m->hidden_size;
    if (k.plane >= (uint32_t)m->k_planes || k.unit >= hidden_size ||
        n.plane >= (uint32_t)m->n_planes || n.unit >= hidden_size)
        return 0;
    return ((const storage *)m->matrix)[(k.plane + n.plane) * m->plane_stride +
                                        k.unit * m->k_stride + n.unit * m->n_stride];
}

#if STORAGE == F32
/* A number as a factor of products; a NaN as one that is NaN in TF32, too. */
INLINE uint32_t factor_of(storage value)
{
#if SPLIT
    return value == value ? (bits_of_f32(value) + 2) & ~3u : 0x7fc00000;
#else
    return tf32_of_f32(value);
#endif
}

/* The two parts of a factor, numbers of TF32. */
INLINE uint32_t large_part(uint32_t factor) { return factor & 0xffffe000; }

INLINE uint32_t small_part(uint32_t factor)
{
    return bits_of_f32(f32_of_bits(factor) - f32_of_bits(large_part(factor)));
}
#endif

/* PACKED elements of a column, from k on, which a word begins with: so does each plane. */
INLINE uint32_t slice_word(const matrix_slices *m, plane_unit k, plane_unit n)
{
#if STORAGE == F32
    return factor_of(slice_element(m, k, n));
#else
    const plane_unit next = {k.plane, k.unit + 1};
    return slice_element(m, k, n) | slice_element(m, next, n) << 16;
#endif
}

/* Tiles of depth of a share; the last ones may be behind the matrix. */
INLINE int share_tiles(const matrix_slices *m) { return (m->depth_tiles + SHARES - 1) / SHARES; }

/* Words `at` of all fragments: (parts, WARPS, depth_per_warp, WARP_TILES, half, lane). Word i is
 * of column lane / 4 + 8 * (i % 2). All of them fit multiprocessors: 32 bits count them. */
INLINE words gather_slice_words(const matrix_slices *m, uint32_t at)
{
    const uint32_t per_warp = (uint32_t)m->depth_per_warp;
    const uint32_t lane = at % LANES, half = at / LANES % 2, tile = at / LANES / 2;
    const uint32_t depth = tile / WARP_TILES, of_warp = depth / per_warp, j = depth % per_warp;
    const uint32_t warp = of_warp % WARPS, part = of_warp / WARPS;
    const uint32_t column_tile = warp % COLUMN_WARPS * WARP_TILES + tile % WARP_TILES;
    const uint32_t first_tile = part % SHARES * (uint32_t)share_tiles(m);
    const uint32_t depth_tile = first_tile + j * DEPTH_WARPS + warp / COLUMN_WARPS;
    const uint32_t first_k = depth_tile * DEPTH + (lane % 4 * 4 + half * 2) * PACKED;
    const uint32_t first_column = column_tile * COLUMNS + lane / 4;
    words gathered;
#pragma unroll
    for (uint32_t low = 0; low < 2; low++) {
        const plane_unit k = unit_of_k(m, first_k + low * PACKED);
#pragma unroll
        for (uint32_t i = 0; i < 2; i++)
            gathered.word[2 * low + i] =
                slice_word(m, k, unit_of_column(m, part, first_column + 8 * i));
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
    const int tiles = m->depth_per_warp * WARP_TILES;
    return tiles > RESIDENT ? tiles - RESIDENT : 0;
}

/* Read a part's tiles into registers and shared memory, each warp its own. */
INLINE void load_slice(const matrix_slices *m, int part, fragment *resident, words *shared)
{
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES, others = shared_tiles(m);
    const int64_t tiles = (int64_t)m->depth_per_warp * WARP_TILES;
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
    float part[WARP_TILES][PARTS][4];
} slice_sums;

#if SPLIT
INLINE void multiply_half(float (*sum)[4], int half, const uint32_t *of, const uint32_t *inputs)
{
    const uint32_t low = large_part(inputs[0]), high = large_part(inputs[1]);
    uint32_t large[4], small[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t factor = anew(of[i]); /* or all parts would be kept */
        large[i] = large_part(factor);
        small[i] = small_part(factor);
    }
    multiply_matrices(sum[0], large, low, high);
    multiply_matrices(sum[1], large, small_part(inputs[0]), small_part(inputs[1]));
    multiply_matrices(sum[1], small, low, high);
}
#else
INLINE void multiply_half(float (*sum)[4], int half, const uint32_t *of, const uint32_t *inputs)
{
    multiply_matrices(sum[half % PARTS], of, inputs[0], inputs[1]);
}
#endif

INLINE void multiply_tile(slice_sums *sum, int column_tile, const fragment *of, const words *inputs)
{
#pragma unroll
    for (int half = 0; half < 2; half++)
        multiply_half(sum->part[column_tile], half, of->half[half].word, inputs->word + 2 * half);
}

/* One sum of a lane. */
INLINE real total_of(const float (*sum)[4], int i)
{
    if (PARTS == 1 || (SPLIT && (bits_of_f32(sum[0][i]) & 0x7f800000) == 0x7f800000))
        return sum[0][i];
    return sum[0][i] + sum[PARTS - 1][i];
}

#define INPUTS_APART (DEPTH_WARPS * EXCHANGE_TILE) /* words between a warp's tiles of depth */

/* A lane's inputs for a tile of rows, in a warp's tiles of depth; without a row, zeros. */
typedef struct {
    const uint32_t *first;
    int tiles, has_row;
    uint32_t ahead[AHEAD][4];
} slice_inputs;

/* Ask for the first inputs, and wait until all of them are there. */
INLINE void first_inputs(slice_inputs *in, exchange *x)
{
#pragma unroll
    for (int j = 0; j < AHEAD; j++)
        for (int i = 0; i < 4; i++)
            in->ahead[j][i] = 0;
    if (in->has_row)
        take_words(x, in->ahead, in->first, INPUTS_APART, in->tiles);
    __syncwarp();
}

/* The warp's inputs j, `at` in `ahead`, when they have arrived; later ones are asked for. */
INLINE words next_inputs(slice_inputs *in, exchange *x, int j, int at)
{
    words got = {{in->ahead[at][0], in->ahead[at][1], in->ahead[at][2], in->ahead[at][3]}};
    if (j >= AHEAD) {
        if (in->has_row)
            await_words(x, got.word, in->first + j * INPUTS_APART);
        __syncwarp();
    }
    if (j + AHEAD < in->tiles && in->has_row)
        load_words(in->ahead[at], in->first + (j + AHEAD) * INPUTS_APART);
    return got;
}

/* Add a warp's products of its inputs j, in registers or, from RESIDENT on, in shared memory. */
INLINE void multiply_depth(slice_sums *sum, int j, int is_resident, const words *inputs,
                           const fragment *resident, const words *shared)
{
#pragma unroll
    for (int tile = 0; tile < WARP_TILES; tile++) {
        const int at = j * WARP_TILES + tile;
        if (is_resident && at < RESIDENT) {
            multiply_tile(sum, tile, &resident[at], inputs);
        } else {
            const words *from = shared + (at - RESIDENT) * 2 * LANES;
            const fragment of = read_fragment(from, threadIdx.x % LANES);
            multiply_tile(sum, tile, &of, inputs);
        }
    }
}

/* Add up a warp's products of the inputs that `in` describes. */
INLINE void multiply_arriving(slice_sums *sum, slice_inputs *in, exchange *x,
                              const fragment *resident, const words *shared)
{
    first_inputs(in, x);
#pragma unroll
    for (int j = 0; j < RESIDENT_DEPTH; j++)
        if (j < in->tiles) {
            const words inputs = next_inputs(in, x, j, j % AHEAD);
            multiply_depth(sum, j, 1, &inputs, resident, shared);
        }
    for (int first = RESIDENT_DEPTH; first < in->tiles; first += AHEAD)
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            if (first + i < in->tiles) {
                const words inputs = next_inputs(in, x, first + i, (RESIDENT_DEPTH + i) % AHEAD);
                multiply_depth(sum, first + i, 0, &inputs, resident, shared);
            }
}

/* Add a warp's sums to, or put them in, (TILE_ROWS, SUMS_ROW). */
INLINE void store_slice_sums(const slice_sums *sum, real *to, int add)
{
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int tile = 0; tile < WARP_TILES; tile++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = lane % 4 * 2 + i % 2, column = tile * COLUMNS + lane / 4 + i / 2 * 8;
            real *at = to + row * SUMS_ROW + column;
            const real total = total_of(sum->part[tile], i);
            if (row < TILE_ROWS)
                *at = add ? *at + total : total;
        }
}

/* The products of a tile of rows, to sums (sum_slots, TILE_ROWS, SUMS_ROW), which the block may
 * read when this is done. `rows` of the tile have inputs in `step`. */
INLINE void multiply_slice(real *sums, const matrix_slices *m, int part, exchange *x, uint32_t step,
                           int row_tile, int rows, const fragment *resident, const words *shared)
{
    const int first = part % SHARES * share_tiles(m), left = m->depth_tiles - first;
    const int tiles = left < share_tiles(m) ? left : share_tiles(m);
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int depth_warp = warp / COLUMN_WARPS, slots = m->sum_slots;
    slice_sums sum = slice_sums();
    slice_inputs in;
    await_rows(x, step, row_tile, rows);
    in.first =
        exchange_word(x, step, row_tile * TILE_ROWS, 0) + (first + depth_warp) * EXCHANGE_TILE;
    in.first += lane * 4;
    in.tiles = (tiles - depth_warp + DEPTH_WARPS - 1) / DEPTH_WARPS;
    in.has_row = lane / 4 < rows && lane / 4 < TILE_ROWS;
    multiply_arriving(&sum, &in, x, resident, shared + warp * shared_tiles(m) * 2 * LANES);
    if (PLACES == 1)
        __syncthreads(); /* what is there has been read */
    sums += (depth_warp & (slots - 1)) * TILE_ROWS * SUMS_ROW;
    sums += warp % COLUMN_WARPS * WARP_TILES * COLUMNS;
    if ((depth_warp & -slots) == DEPTH_WARPS - slots)
        store_slice_sums(&sum, sums, 0);
    __syncthreads();
#pragma unroll 1
    for (int fold = DEPTH_WARPS - 2 * slots; fold >= 0; fold -= slots) {
        if ((depth_warp & -slots) == fold)
            store_slice_sums(&sum, sums, 1);
        __syncthreads();
    }
}

/* The products of a row of the tile with `count` columns. */
INLINE void slice_products(real *to, const real *sums, const matrix_slices *m, int row,
                           const int *columns, int count)
{
    const real *of = sums + row * SUMS_ROW;
#pragma unroll
    for (int i = 0; i < count; i++)
        to[i] = 0;
    if (m->sum_slots == DEPTH_WARPS) { /* nearly always, so it has no branches */
#pragma unroll
        for (int slot = 0; slot < DEPTH_WARPS; slot++)
#pragma unroll
            for (int i = 0; i < count; i++)
                to[i] += of[slot * TILE_ROWS * SUMS_ROW + columns[i]];
        return;
    }
#pragma unroll 1
    for (int slot = 0; slot < m->sum_slots; slot++)
#pragma unroll
        for (int i = 0; i < count; i++)
            to[i] += of[slot * TILE_ROWS * SUMS_ROW + columns[i]];
}

/* The same of one column. */
INLINE real slice_product(const real *sums, const matrix_slices *m, int row, int column)
{
    real product;
    slice_products(&product, sums, m, row, &column, 1);
    return product;
}

#endif
