/* What one thread of this machine can do: multiply-adds on registers and, if there is one, on a
 * matrix unit, and reads of memory. */

#include <stddef.h>
#if defined(__AMX_BF16__) || defined(__AVX512BF16__)
#include <immintrin.h>
#include <stdint.h>
#endif

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

typedef float vector __attribute__((vector_size(WIDTH)));
enum { LANES = WIDTH / sizeof(float), CHAINS = 12 }; /* independent sums hide the latency */

static volatile float sink; /* so that nothing here is dead code */

static float total(const vector *sums)
{
    float found = 0;
    for (int i = 0; i < CHAINS; i++)
        found += sums[i][0];
    return found;
}

/* Returns how many operations it ran: two for each multiply-add. */
double multiply_add(long rounds)
{
    vector factor = {0}, sums[CHAINS];
    factor += 0.999f;
    for (int i = 0; i < CHAINS; i++)
        sums[i] = factor * (float)i;
    for (long round = 0; round < rounds; round++)
        for (int i = 0; i < CHAINS; i++)
            sums[i] = sums[i] * factor + factor;
    sink = total(sums);
    return 2.0 * LANES * CHAINS * (double)rounds;
}

/* The same of bfloat16, whose products vectors sum in pairs; 0 if they do not. */
double multiply_add_pairs(long rounds)
{
#if defined(__AVX512BF16__)
    const __m512bh pairs = (__m512bh)_mm512_set1_epi32(0x3f7f3f7f);
    vector sums[CHAINS] = {{0}};
    for (int i = 0; i < CHAINS; i++)
        sums[i] += (float)i; /* of equal ones compilers sum one */
    for (long round = 0; round < rounds; round++)
        for (int i = 0; i < CHAINS; i++)
            sums[i] = (vector)_mm512_dpbf16_ps((__m512)sums[i], pairs, pairs);
    sink = total(sums);
    return 4.0 * LANES * CHAINS * (double)rounds;
#else
    (void)rounds;
    return 0;
#endif
}

/* The same on a matrix unit, six products of bfloat16 being one of floats; 0 if there is none. The
 * process must be allowed to use it. */
double multiply_add_pieces(long rounds)
{
#if defined(__AMX_BF16__)
    enum { TILES = 4, ROWS = 16, COLUMNS = 16, DEPTH = 32, PRODUCTS = 6 };
    static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t row_nbytes[16];
        uint8_t rows[16];
    } whole = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&whole);
    for (long round = 0; round < rounds; round++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
    return 2.0 * TILES * ROWS * COLUMNS * DEPTH / PRODUCTS * (double)rounds;
#else
    (void)rounds;
    return 0;
#endif
}

/* Reads `nbytes` at `values`, aligned to 64, `sweeps` times, to and fro: what a cache still holds
 * of the end of a sweep is what the next one begins with. Returns how many bytes it read. */
double read_memory(const float *values, size_t nbytes, long sweeps)
{
    const vector *first = (const vector *)values;
    const ptrdiff_t blocks = (ptrdiff_t)(nbytes / sizeof(vector) / CHAINS);
    vector sums[CHAINS] = {{0}};
    for (long sweep = 0; sweep < sweeps; sweep++)
        for (ptrdiff_t block = 0; block < blocks; block++) {
            const vector *next = first + CHAINS * (sweep & 1 ? blocks - 1 - block : block);
            for (int i = 0; i < CHAINS; i++)
                sums[i] += next[i];
        }
    sink = total(sums);
    return (double)sizeof(vector) * CHAINS * (double)blocks * (double)sweeps;
}
