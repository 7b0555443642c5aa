/* matrix.h: a matrix that stays with a block, in registers and shared memory, and its products with
 * a few rows: sums (rows, N) = inputs (rows, K) times matrix (K, N).
 *
 * N are units, or planes of them, one for each gate; K the other way around. The matrix is cut into
 * tiles of 16 units of a plane and DEPTH of K, padded with zeros. A warp has all planes and all of
 * K for its tiles of units, of which there are UNIT_TILES at most, dealt out one by one: what a
 * lane has of the sums are all gates of its own rows and units, and nothing is left to add up. The
 * first RESIDENT tiles of a warp are in registers, the others in shared memory. All counts are
 * known when compiling, so that no step decides anything.
 *
 * A lane of a warp has 4 words of each tile. Word i is of unit lane / 4 + 8 * (i % 2), and of the
 * words of depth that depth_word says: those two that it also has of the inputs, where those of two
 * tiles lie one behind the other.
 *
 * The compiling side defines HIDDEN_TILES, how many tiles the units of a plane are, RESIDENT, and
 * ROWS, how many there are at most: 2, 4 or 8 for the matrix instruction, else 1, 2 or 4. */
#include "../step.h"
#include "block.h"

#define TILE_UNITS 16
#define DEPTH (8 * PACKED)
#define WIDTH (HIDDEN_TILES * TILE_UNITS) /* units of a plane, with those that are padding */
#define UNIT_TILES ((HIDDEN_TILES + WARPS - 1) / WARPS)
#define PLANE_TILES (WIDTH / DEPTH) /* along the depth of a plane */
#define TILES_OF(unit_tiles) ((unit_tiles) * GATES * PLANE_TILES)
#define OTHERS_OF(unit_tiles) \
    (TILES_OF(unit_tiles) > RESIDENT ? TILES_OF(unit_tiles) - RESIDENT : 0)

/* Warps that have UNIT_TILES; the others have one less. */
#define FULL_WARPS (HIDDEN_TILES - (UNIT_TILES - 1) * WARPS)
#define SHARED_TILES \
    (FULL_WARPS * OTHERS_OF(UNIT_TILES) + (WARPS - FULL_WARPS) * OTHERS_OF(UNIT_TILES - 1))

/* Of a lane: a row and one or two units of each tile of units, or two of each. */
#define ELEMENTS (ROWS > 2 ? ROWS / 2 : 1)

/* Independent sums of a plane, lest the instructions wait for each other; three where several tiles
 * of units leave no registers for more. */
#define CHAINS_OF(planes) \
    ((planes) > 1 || (!MATRIX_INSTRUCTION && ROWS > 1) ? 1 : UNIT_TILES > 1 && GATES < 4 ? 3 : 4)
#define MOST_SUMS 4

/* What a lane has of a tile; in memory, those of all lanes are one behind the other. */
typedef struct __align__(16) {
    uint32_t word[4];
} words;

/* The first word of depth of two that a lane has in tile `at` of so many. */
INLINE int depth_word(int lane, int at, int depth_tiles)
{
    if (MATRIX_INSTRUCTION && (at | 1) < depth_tiles)
        return at / 2 * 16 + lane % 4 * 4 + at % 2 * 2;
    return at * 8 + lane % 4 * 2;
}

/* Element (k, n) of a plane of either. */
INLINE uint32_t bits_of_element(const block_matrix *m, int k, int n, int plane)
{
    const int64_t H = m->hidden_size, behind_planes = m->position[plane] * H;
    if (k >= H || n >= H)
        return 0;
    const int64_t k_behind = m->planes_of_depth > 1 ? k + behind_planes : k;
    const int64_t n_behind = m->planes_of_depth > 1 ? n : n + behind_planes;
    const storage element =
        ((const storage *)m->matrix)[k_behind * m->k_stride + n_behind * m->n_stride];
#if STORAGE == F32
    return bits_of_f32(element);
#else
    return element;
#endif
}

/* What a lane has of a warp's tile of the caller's matrix. */
INLINE words gather_words(const block_matrix *m, int warp, int tile, int lane)
{
    const int planes = GATES / m->planes_of_depth, depth_tiles = m->planes_of_depth * PLANE_TILES;
    const int first = tile / planes % depth_tiles, unit_tile = tile / planes / depth_tiles;
    const int first_k = depth_word(lane, first, depth_tiles) * PACKED;
    const int first_n = (warp + unit_tile * WARPS) * TILE_UNITS + lane / 4;
    const int plane = planes > 1 ? tile % planes : first_k / WIDTH;
    words gathered;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int k = (first_k + i / 2 * PACKED) % WIDTH, n = first_n + i % 2 * 8;
        gathered.word[i] = bits_of_element(m, k, n, plane);
        if (PACKED == 2)
            gathered.word[i] |= bits_of_element(m, k + 1, n, plane) << 16;
    }
    return gathered;
}

/* Whether this warp has so many tiles of units, and one more. */
INLINE int has_unit_tile(int tile)
{
    return (tile + 1) * WARPS <= HIDDEN_TILES ||
           (int)threadIdx.x / LANES + tile * WARPS < HIDDEN_TILES;
}

/* The warp's tiles that are in shared memory. */
INLINE words *own_tiles(words *shared)
{
    const int warp = threadIdx.x / LANES, full = warp < FULL_WARPS ? warp : FULL_WARPS;
    return shared +
           (full * OTHERS_OF(UNIT_TILES) + (warp - full) * OTHERS_OF(UNIT_TILES - 1)) * LANES;
}

/* Read RESIDENT tiles into registers, and the warp's others into shared memory. */
INLINE void load_matrix(const block_matrix *m, words *resident, words *shared)
{
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int others = warp < FULL_WARPS ? OTHERS_OF(UNIT_TILES) : OTHERS_OF(UNIT_TILES - 1);
    const words *own = (const words *)m->fragments + warp * TILES_OF(UNIT_TILES) * LANES;
    words *to = own_tiles(shared);
#pragma unroll
    for (int i = 0; i < RESIDENT; i++)
        resident[i] = own[i * LANES + lane];
    for (int i = lane; i < others * LANES; i += LANES)
        to[i] = own[RESIDENT * LANES + i];
}

/* Where a lane's element `i` of a tile of units is. */
INLINE int row_of_element(int i)
{
    const int lane = threadIdx.x % 4;
    return ROWS <= 2 ? lane / 2 : ROWS == 4 ? lane : lane * 2 + i / 2;
}

INLINE int unit_of_element(int unit_tile, int i)
{
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int half = ROWS <= 2 ? lane % 2 : i % 2;
    return (warp + unit_tile * WARPS) * TILE_UNITS + lane / 4 + half * 8;
}

#if MATRIX_INSTRUCTION
/* Rows of storage. Eight lanes at a time read from different banks: of two rows, if there are 8. */
#define INPUTS_OF_ROW(depth_tiles) ((((depth_tiles) + 1) / 2 | 1) * 2 * DEPTH)
#define NUM_INPUTS(depth_tiles) (ROWS * INPUTS_OF_ROW(depth_tiles))

typedef storage input;

INLINE void put_input(input *inputs, int depth_tiles, int row, int k, storage value)
{
    inputs[row * INPUTS_OF_ROW(depth_tiles) + k] = value;
}

/* Of units lane / 4 and 8 more, with two columns each: a row has as many columns as make 8. */
typedef struct {
    float of[4];
} accumulator;

typedef struct __align__(8) {
    uint32_t word[2];
} two_words;

/* The lane's words of inputs of tile `at`, which is even, and of the next, if there is one. */
INLINE words read_inputs(const input *inputs, int at, int depth_tiles)
{
    const int lane = threadIdx.x % LANES, row = lane / 4 * ROWS / 8;
    const uint32_t *own = (const uint32_t *)(inputs + row * INPUTS_OF_ROW(depth_tiles));
    own += depth_word(lane, at, depth_tiles);
    if (at + 1 < depth_tiles)
        return *(const words *)own;
    const two_words last = *(const two_words *)own;
    const words read = {{last.word[0], last.word[1]}};
    return read;
}

#define INPUT_TILES 2 /* that are read at once */
typedef words tile_inputs;

INLINE void multiply_tile(accumulator *sum, const words *tile, const tile_inputs *inputs, int at)
{
    multiply_matrices(sum->of, tile->word, inputs->word[at * 2], inputs->word[at * 2 + 1]);
}

INLINE void add_accumulator(accumulator *to, const accumulator *other)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        to->of[i] += other->of[i];
}

/* The sums of a lane's elements. */
INLINE void take_elements(real *to, const accumulator *sum)
{
    if (ROWS <= 2)
        to[0] = threadIdx.x % 2 ? sum->of[2] : sum->of[0];
    else
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++)
            to[i] = sum->of[i % 2 * 2 + i / 2];
}
#else
/* The numbers of all rows for one k, one behind the other. */
#define NUM_INPUTS(depth_tiles) (ROWS * (depth_tiles) * DEPTH)

typedef real input;

INLINE void put_input(input *inputs, int depth_tiles, int row, int k, storage value)
{
    inputs[k * ROWS + row] = to_real(value);
}

/* What a lane has of the sums of units lane / 4 and 8 more. */
typedef struct {
    real of[2][ROWS];
} accumulator;

#define INPUT_TILES 1
typedef struct __align__(PACKED *ROWS > 1 ? 16 : 8) {
    real of[2][PACKED][ROWS];
} tile_inputs;

INLINE tile_inputs read_inputs(const input *inputs, int at, int depth_tiles)
{
    const int word = depth_word(threadIdx.x % LANES, at, depth_tiles);
    return *(const tile_inputs *)(inputs + word * PACKED * ROWS);
}

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

INLINE void multiply_tile(accumulator *sum, const words *tile, const tile_inputs *inputs, int at)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < PACKED; j++) {
            const real element = element_of_word(tile->word[i], j);
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                sum->of[i % 2][row] += element * inputs->of[i / 2][j][row];
        }
}

INLINE void add_accumulator(accumulator *to, const accumulator *other)
{
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        to->of[0][row] += other->of[0][row];
        to->of[1][row] += other->of[1][row];
    }
}

/* What this lane has of a sum, and what its neighbour has, to whom its other number goes. */
INLINE real shared_sum(real low, real high, int bit)
{
    const int is_high = (threadIdx.x & bit) != 0;
    return (is_high ? high : low) + exchange_lanes(is_high ? low : high, bit);
}

/* Four neighbours add up what they have, each for its own elements. */
INLINE void take_elements(real *to, const accumulator *sum)
{
    real half[2][ROWS > 2 ? 2 : 1];
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int row = 0; row < (ROWS > 2 ? 2 : 1); row++)
            half[i][row] = ROWS > 1 ? shared_sum(sum->of[i][row], sum->of[i][ROWS / 2 + row], 2)
                                    : sum->of[i][0] + exchange_lanes(sum->of[i][0], 2);
    if (ROWS <= 2)
        to[0] = shared_sum(half[0][0], half[1][0], 1);
    else
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++)
            to[i] = shared_sum(half[i][0], half[i][ROWS > 2], 1);
}
#endif

/* Add to sums what INPUT_TILES tiles of depth from `at` on give. */
INLINE void multiply_depth(accumulator *sums, const words *resident, const words *shared,
                           const input *inputs, int unit_tile, int planes, int depth_tiles, int at)
{
    const int lane = threadIdx.x % LANES, chains = CHAINS_OF(planes);
    const tile_inputs read = read_inputs(inputs, at, depth_tiles);
#pragma unroll
    for (int t = 0; t < INPUT_TILES; t++)
#pragma unroll
        for (int plane = 0; plane < planes; plane++) {
            const int tile = at + t;
            if (tile >= depth_tiles)
                continue;
            const int i = (unit_tile * depth_tiles + tile) * planes + plane;
            words of;
            if (resident && i < RESIDENT)
                of = resident[i];
            else
                of = shared[(i - RESIDENT) * LANES + lane];
            multiply_tile(&sums[chains > 1 ? tile % chains * planes + plane : plane], &of, &read,
                          t);
        }
}

/* How many tiles of depth are unrolled: number by number only those with tiles in registers, or
 * compilers would read too much ahead. */
INLINE int unrolled_depth(int unit_tile, int planes, int depth_tiles)
{
    const int left = RESIDENT - unit_tile * depth_tiles * planes;
    const int resident = left > 0 ? (left + planes - 1) / planes : 0;
    const int is_all = MATRIX_INSTRUCTION || CHAINS_OF(planes) > 1 || resident > depth_tiles;
    return is_all ? depth_tiles : resident;
}

/* The sums of all planes for a lane's elements of one of its warp's tiles of units. */
INLINE void multiply(real (*to)[ELEMENTS], const words *resident, const words *shared,
                     const input *inputs, int unit_tile, int planes, int depth_tiles)
{
    const int chains = CHAINS_OF(planes), few = unrolled_depth(unit_tile, planes, depth_tiles);
    accumulator sums[MOST_SUMS] = {};
    /* As often for every tile of units: compilers unroll this before the loop over those. */
#pragma unroll
    for (int at = 0; at < depth_tiles; at += INPUT_TILES)
        if (at < few)
            multiply_depth(sums, resident, shared, inputs, unit_tile, planes, depth_tiles, at);
#pragma unroll 1
    for (int at = few; at < depth_tiles; at += INPUT_TILES)
        multiply_depth(sums, 0, shared, inputs, unit_tile, planes, depth_tiles, at);
#pragma unroll
    for (int i = planes; i < planes * chains; i++)
        add_accumulator(&sums[i % planes], &sums[i]);
#pragma unroll
    for (int plane = 0; plane < planes; plane++)
        take_elements(to[plane], &sums[plane]);
}
