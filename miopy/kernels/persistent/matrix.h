/* matrix.h: a matrix that stays with a block, in registers and shared memory, and its products with
 * a few rows: sums (rows, N) = inputs (rows, K) times matrix (K, N).
 *
 * The matrix is cut into tiles of 32 columns and DEPTH of K, padded with zeros, and each warp has
 * `tiles_per_warp` of them, in the order of columns, then of K: the first RESIDENT in registers,
 * the others in shared memory. Columns whose tiles several warps have are summed by whoever reads
 * them: each of these warps has a slot of sums to itself, and slots that none writes stay zero.
 *
 * A lane of a warp has 4 words of each half of a tile's columns. Word i of a half is of column
 * lane / 4 + 8 * (i % 2), and of the k numbered lane % 4 + 4 * (i / 2) if a word holds one, or of
 * the two from twice that on: what the matrix instruction wants. Without it, a lane multiplies what
 * it has with all rows, and four neighbours add up. Both halves take what is read of the inputs.
 *
 * The compiling side defines RESIDENT, and ROWS, how many there are at most: 8 for that
 * instruction, else at least 4. */
#include "../step.h"
#include "block.h"

#define COLUMNS 32
#define DEPTH (8 * PACKED)

/* What a lane has of half a tile; in memory, those of all lanes are one behind the other. */
typedef struct __align__(16) {
    uint32_t word[4];
} words;

typedef struct {
    words half[2];
} fragment;

INLINE uint32_t bits_of_element(const block_matrix *m, int k, int n)
{
    if (k >= m->K || n >= m->N)
        return 0;
    const storage element = ((const storage *)m->matrix)[k * m->k_stride + n * m->n_stride];
#if STORAGE == F32
    return bits_of_f32(element);
#else
    return element;
#endif
}

/* The first k of word i of a half, within the tile. */
INLINE int depth_of_word(int lane, int i) { return (lane % 4 + i / 2 * 4) * PACKED; }

/* What a lane has of a half of the caller's matrix. */
INLINE words gather_words(const block_matrix *m, int half, int lane)
{
    const int tile = half / 2, first_k = tile % m->depth_tiles * DEPTH;
    const int first_n = tile / m->depth_tiles * COLUMNS + half % 2 * (COLUMNS / 2);
    words gathered;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int k = first_k + depth_of_word(lane, i), n = first_n + lane / 4 + i % 2 * 8;
        gathered.word[i] = bits_of_element(m, k, n);
        if (PACKED == 2)
            gathered.word[i] |= bits_of_element(m, k + 1, n) << 16;
    }
    return gathered;
}

/* What a lane has of a tile that begins there. */
INLINE fragment read_fragment(const words *tile, int lane)
{
    const fragment of = {{tile[lane], tile[LANES + lane]}};
    return of;
}

/* Read RESIDENT fragments into registers, and the warp's other tiles into shared memory. */
INLINE void load_matrix(const block_matrix *m, fragment *resident, words *shared)
{
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int others = m->tiles_per_warp - RESIDENT;
    const words *own = (const words *)m->fragments + warp * m->tiles_per_warp * 2 * LANES;
#pragma unroll
    for (int i = 0; i < RESIDENT; i++)
        if (i < m->tiles_per_warp)
            resident[i] = read_fragment(own + i * 2 * LANES, lane);
    for (int i = lane; i < others * 2 * LANES; i += LANES)
        shared[warp * others * 2 * LANES + i] = own[RESIDENT * 2 * LANES + i];
}

#if MATRIX_INSTRUCTION
/* Rows of storage, so far apart that the lanes of a warp read from different banks. */
#define INPUT_ROWS(rows) (rows)
#define INPUTS_OF_ROW(depth_tiles) ((depth_tiles) * DEPTH + 8)

typedef storage input;

INLINE void put_input(input *inputs, const block_matrix *m, int row, int k, storage value)
{
    inputs[row * INPUTS_OF_ROW(m->depth_tiles) + k] = value;
}

/* Of each half of a tile's columns: sums of columns lane / 4 and 8 more, each with two rows. */
typedef struct {
    float half[2][4];
} accumulator;

INLINE void multiply_tile(accumulator *sum, const fragment *of, const input *inputs,
                          const block_matrix *m, int depth_tile, int rows)
{
    const int lane = threadIdx.x % LANES, row = lane / 4 < rows ? lane / 4 : 0;
    const input *own = inputs + row * INPUTS_OF_ROW(m->depth_tiles) + depth_tile * DEPTH;
    const uint32_t *word = (const uint32_t *)own + lane % 4;
#pragma unroll
    for (int half = 0; half < 2; half++)
        multiply_matrices(sum->half[half], of->half[half].word, word[0], word[4]);
}

/* sums[row][n] for row < rows and n < N. */
INLINE void store_sums(const accumulator *sum, real *sums, const block_matrix *m, int first_n,
                       int rows)
{
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int n = first_n + i / 4 * (COLUMNS / 2) + lane / 4 + i % 4 / 2 * 8;
        const int row = lane % 4 * 2 + i % 2;
        if (n < m->N && row < rows)
            sums[row * m->N + n] = sum->half[i / 4][i % 4];
    }
}
#else
/* The numbers of all rows for one k, one behind the other. */
#define INPUT_ROWS(rows) ROWS
#define INPUTS_OF_ROW(depth_tiles) ((depth_tiles) * DEPTH)

typedef real input;

INLINE void put_input(input *inputs, const block_matrix *m, int row, int k, storage value)
{
    inputs[k * ROWS + row] = to_real(value);
}

/* Of each half of a tile's columns: what a lane has of the sums of its two columns. */
typedef struct {
    real half[2][2][ROWS];
} accumulator;

typedef struct __align__(PACKED *ROWS > 2 ? 16 : PACKED * ROWS * 4) {
    real of[PACKED][ROWS];
} word_inputs;

INLINE real element_of_word(uint32_t word, int i)
{
#if STORAGE == F32
    return f32_of_bits(word);
#elif STORAGE == F16 && defined(__HIPCC__) /* in one instruction */
    return __builtin_bit_cast(_Float16, (storage)(word >> 16 * i));
#else
    return to_real((storage)(word >> 16 * i));
#endif
}

INLINE void multiply_tile(accumulator *sum, const fragment *of, const input *inputs,
                          const block_matrix *m, int depth_tile, int rows)
{
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const int k = depth_tile * DEPTH + depth_of_word(lane, i);
        const word_inputs values = *(const word_inputs *)(inputs + k * ROWS);
#pragma unroll
        for (int column = 0; column < 4; column++) {
            const uint32_t word = of->half[column / 2].word[i + column % 2];
#pragma unroll
            for (int j = 0; j < PACKED; j++) {
                const real element = element_of_word(word, j);
#pragma unroll
                for (int row = 0; row < ROWS; row++)
                    sum->half[column / 2][column % 2][row] += element * values.of[j][row];
            }
        }
    }
}

INLINE void store_sums(const accumulator *sum, real *sums, const block_matrix *m, int first_n,
                       int rows)
{
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int column = 0; column < 4; column++) {
        const int n = first_n + column / 2 * (COLUMNS / 2) + lane / 4 + column % 2 * 8;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const real total = sum_of_four_lanes(sum->half[column / 2][column % 2][row]);
            if (row % 4 == lane % 4 && n < m->N && row < rows)
                sums[row * m->N + n] = total;
        }
    }
}
#endif

/* Where a warp is in its tiles, and what it has summed up of the columns of the current one. */
typedef struct {
    int tile, end, depth_tile, first_n, slot;
    accumulator sum;
} place_in_matrix;

INLINE void next_tile(place_in_matrix *at, const fragment *of, const block_matrix *m,
                      const input *inputs, real *sums, int rows, int capacity)
{
    if (at->tile >= at->end)
        return;
    multiply_tile(&at->sum, of, inputs, m, at->depth_tile, rows);
    at->tile++;
    at->depth_tile++;
    if (at->depth_tile < m->depth_tiles && at->tile < at->end)
        return;
    store_sums(&at->sum, sums + at->slot * capacity * m->N, m, at->first_n, rows);
    at->sum = accumulator();
    at->depth_tile = at->slot = 0;
    at->first_n += COLUMNS;
}

/* sums (slots, capacity, N): slots of the products of rows < rows. */
INLINE void multiply(const block_matrix *m, const fragment *resident, const words *shared,
                     const input *inputs, real *sums, int rows, int capacity)
{
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int others = m->tiles_per_warp - RESIDENT, first = warp * m->tiles_per_warp;
    const int first_column = first / m->depth_tiles;
    place_in_matrix at = {first, first + m->tiles_per_warp, first % m->depth_tiles,
                          first_column * COLUMNS};
    at.slot = warp - first_column * m->depth_tiles / m->tiles_per_warp;
    if (at.end > m->num_tiles)
        at.end = m->num_tiles;
#pragma unroll
    for (int i = 0; i < RESIDENT; i++)
        next_tile(&at, &resident[i], m, inputs, sums, rows, capacity);
    for (int i = 0; i < others; i++) {
        const fragment other = read_fragment(shared + (warp * others + i) * 2 * LANES, lane);
        next_tile(&at, &other, m, inputs, sums, rows, capacity);
    }
}

/* The sum over slots, left in the first one. */
INLINE void add_slots(const block_matrix *m, real *sums, int row, int n, int capacity)
{
    const int at = row * m->N + n;
    for (int slot = 1; slot < m->slots; slot++)
        sums[at] += sums[slot * capacity * m->N + at];
}
