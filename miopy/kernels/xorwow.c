/* xorwow.c: the XORWOW generator (Marsaglia, "Xorshift RNGs", 2003) and the dropout masks it draws.
 * No storage type: compiled once.
 *
 * A state is five words x, advanced by a xorshift, and a counter d. The states of a buffer belong
 * to subsequences 0, 1, 2, ... of one seed, 2^67 draws apart. One step is linear on the 160 bits
 * of x over GF(2), so the way from one subsequence to the next is the matrix A^(2^67), which 67
 * squarings of the one-step matrix A give. Its powers fill the buffer by doubling:
 *
 *     state[n + k] = (A^(2^67))^n state[k],   k < n,   n = 1, 2, 4, ...
 *
 * A matrix is kept as the image of each value of each of the 40 nibbles of x; an image of x is
 * then the sum of 40 entries.
 *
 * The host defines LANES, the number of states that draw side by side in one iteration; it divides
 * 256. On a GPU a thread takes one state. */
#include "target.h"

#ifndef LANES
#define LANES 1
#endif

#define WORDS 5
#define NIBBLES 40

/* As it lies in the states buffer: 24 bytes. */
typedef struct {
    uint32_t d, x[WORDS];
} xorwow_state;

typedef struct {
    uint32_t image[NIBBLES][16][WORDS];
} xorwow_matrix;

/* The word that follows `newest` and replaces `oldest`. */
INLINE uint32_t xorshift(uint32_t oldest, uint32_t newest)
{
    const uint32_t t = oldest ^ oldest >> 2;
    return newest ^ newest << 4 ^ t ^ t << 1;
}

INLINE void multiply(uint32_t y[WORDS], const xorwow_matrix *matrix, const uint32_t x[WORDS])
{
    uint32_t sum[WORDS] = {0};
    for (int n = 0; n < NIBBLES; n++) {
        const uint32_t *image = matrix->image[n][x[n / 8] >> n % 8 * 4 & 15];
        for (int word = 0; word < WORDS; word++)
            sum[word] ^= image[word];
    }
    for (int word = 0; word < WORDS; word++)
        y[word] = sum[word];
}

/* Given the images of 1, 2, 4 and 8, fill in those of their sums. */
INLINE void complete(uint32_t image[16][WORDS])
{
    for (int word = 0; word < WORDS; word++) {
        image[0][word] = 0;
        for (int value = 1; value < 16; value++)
            image[value][word] = image[value & (value - 1)][word] ^ image[value & -value][word];
    }
}

/* matrix = A, one step. */
KERNEL xorwow_step(xorwow_matrix *matrix)
{
    EACH(n, NIBBLES) {
        for (int bit = 0; bit < 4; bit++) {
            uint32_t x[WORDS], *image = matrix->image[n][1 << bit];
            for (int word = 0; word < WORDS; word++)
                x[word] = word == n / 8 ? (uint32_t)1 << (n % 8 * 4 + bit) : 0;
            for (int word = 0; word < WORDS - 1; word++)
                image[word] = x[word + 1];
            image[WORDS - 1] = xorshift(x[0], x[WORDS - 1]);
        }
        complete(matrix->image[n]);
    }
}

/* square = matrix * matrix */
KERNEL xorwow_square(xorwow_matrix *square, const xorwow_matrix *matrix)
{
    EACH(n, NIBBLES) {
        for (int bit = 0; bit < 4; bit++)
            multiply(square->image[n][1 << bit], matrix, matrix->image[n][1 << bit]);
        complete(square->image[n]);
    }
}

/* states[0], subsequence 0 of the seed. */
KERNEL xorwow_seed(xorwow_state *states, uint64_t seed)
{
    EACH(k, 1) {
        const uint32_t low = 1228688033u * ((uint32_t)seed ^ 0x2c7f967fu);
        const uint32_t high = 2073658381u * ((uint32_t)(seed >> 32) ^ 0xa03697cbu);
        states[k].d = 6615241u + low + high;
        states[k].x[0] = 123456789u + low;
        states[k].x[1] = 362436069u ^ low;
        states[k].x[2] = 521288629u + high;
        states[k].x[3] = 88675123u ^ high;
        states[k].x[4] = 5783321u + low;
    }
}

/* states[known + k] = matrix * states[k] for k < count <= known. */
KERNEL xorwow_extend(xorwow_state *states, int64_t known, int64_t count,
                     const xorwow_matrix *matrix)
{
    EACH(k, count) {
        states[known + k].d = states[k].d;
        multiply(states[known + k].x, matrix, states[k].x);
    }
}

/* How many states the mask of so many elements is drawn from: 256 to 16384. */
INLINE int64_t states_used(int64_t elements)
{
    const int64_t blocks = elements < 64 * 256 ? (elements + 255) / 256 : 64;
    return 256 * blocks;
}

/* mask[e] = 1 where draw e / used of states[e % used] is above dropout, else 0; e < elements and
 * used = states_used(elements). A draw is uniform in [2^-32, 1]. The states stay as they are. */
KERNEL dropout_mask(uint8_t *mask, const xorwow_state *states, int64_t elements, float dropout)
{
    const int64_t used = states_used(elements);
    EACH(group, used / LANES) {
        uint32_t d[LANES], x[WORDS][LANES];
        for (int lane = 0; lane < LANES; lane++) {
            d[lane] = states[group * LANES + lane].d;
            for (int word = 0; word < WORDS; word++)
                x[word][lane] = states[group * LANES + lane].x[word];
        }
        int64_t first = group * LANES;
        while (first < elements) /* x is a ring: no word moves */
            for (int oldest = 0; oldest < WORDS && first < elements; oldest++, first += used) {
                const int newest = (oldest + WORDS - 1) % WORDS;
                const int64_t lanes = elements - first < LANES ? elements - first : LANES;
                for (int lane = 0; lane < lanes; lane++) {
                    x[oldest][lane] = xorshift(x[oldest][lane], x[newest][lane]);
                    d[lane] += 362437u;
                    const float draw = (float)(d[lane] + x[oldest][lane]) * 0x1p-32f + 0x1p-32f;
                    mask[first + lane] = draw > dropout;
                }
            }
    }
}

/* Every one of `count` states goes on by `draws` draws. */
KERNEL xorwow_advance(xorwow_state *states, int64_t count, int64_t draws)
{
    EACH(k, count) {
        xorwow_state state = states[k];
        for (int64_t draw = 0; draw < draws; draw++) {
            const uint32_t next = xorshift(state.x[0], state.x[WORDS - 1]);
            for (int word = 0; word < WORDS - 1; word++)
                state.x[word] = state.x[word + 1];
            state.x[WORDS - 1] = next;
            state.d += 362437u;
        }
        states[k] = state;
    }
}
