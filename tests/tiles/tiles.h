/* tiles.h: the matrix unit's instructions in C, and that for pairs of bfloat16, for machines with
 * AVX-512 but without AMX. The compiler includes it before a file of kernels (-include).
 *
 * It rounds as the unit does: denormals count as zero, in and out, the even and the odd k of a tile
 * are summed apart, in float, and their sum is added. It is stricter otherwise: tiles hold NaN
 * until they are set, and what the unit would fault on, or do without a configuration, ends the
 * process. */
#define _GNU_SOURCE /* as a file may, too late behind these */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILE_FUNCTION static __attribute__((unused, target("avx512f,avx512dq,avx512bw,avx512vl")))

enum { TILES = 8, TILE_ROWS = 16, TILE_WORDS = 16 };

typedef struct {
    enum { NEVER, CONFIGURED, GIVEN_BACK } state;
    uint8_t rows[TILES];
    uint16_t row_nbytes[TILES];
    _Alignas(64) uint32_t words[TILES][TILE_ROWS][TILE_WORDS];
} tile_registers;
static _Thread_local tile_registers tile_state;

TILE_FUNCTION void tiles_must(int is_met, const char *rule)
{
    if (is_met)
        return;
    fprintf(stderr, "tiles: %s\n", rule);
    abort();
}

/* A configured tile's words. */
TILE_FUNCTION uint32_t (*tile_words(int tile)) [TILE_WORDS] {
    tiles_must(tile_state.state != NEVER, "used without a configuration");
    tiles_must(tile_state.state != GIVEN_BACK, "used after a configuration given back");
    tiles_must(tile >= 0 && tile < TILES && tile_state.rows[tile], "one of no size is used");
    return tile_state.words[tile];
}

TILE_FUNCTION void tiles_configure(const void *configuration)
{
    const uint8_t *bytes = configuration;
    tiles_must(tile_state.state != CONFIGURED, "configured again before they were given back");
    tiles_must(bytes[0] == 1 && !bytes[1], "configured for another palette or start");
    for (int i = 2; i < 64; i++)
        tiles_must((i >= 16 && i < 32) || (i >= 48 && i < 56) || !bytes[i],
                   "reserved bytes are set");
    memcpy(tile_state.row_nbytes, bytes + 16, sizeof tile_state.row_nbytes);
    memcpy(tile_state.rows, bytes + 48, sizeof tile_state.rows);
    for (int i = 0; i < TILES; i++) {
        const int nbytes = tile_state.row_nbytes[i], rows = tile_state.rows[i];
        tiles_must(nbytes <= 64 && nbytes % 4 == 0 && rows <= TILE_ROWS && !nbytes == !rows,
                   "configured for no possible size");
    }
    memset(tile_state.words, 0xff, sizeof tile_state.words); /* NaN as floats and as bfloat16 */
    tile_state.state = CONFIGURED;
}

TILE_FUNCTION void tiles_release(void) { tile_state.state = GIVEN_BACK; }

TILE_FUNCTION void tile_set_zero(int tile)
{
    memset(tile_words(tile), 0, sizeof tile_state.words[tile]);
}

TILE_FUNCTION void tile_load(int tile, const void *from, int64_t stride)
{
    uint32_t (*words)[TILE_WORDS] = tile_words(tile);
    for (int m = 0; m < tile_state.rows[tile]; m++)
        memcpy(words[m], (const char *)from + m * stride, tile_state.row_nbytes[tile]);
}

TILE_FUNCTION void tile_store(int tile, void *to, int64_t stride)
{
    uint32_t (*words)[TILE_WORDS] = tile_words(tile);
    for (int m = 0; m < tile_state.rows[tile]; m++)
        memcpy((char *)to + m * stride, words[m], tile_state.row_nbytes[tile]);
}

TILE_FUNCTION __m512 odd_k(__m512i pairs)
{
    return (__m512)_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000));
}
TILE_FUNCTION __m512 even_k(__m512i pairs) { return (__m512)_mm512_slli_epi32(pairs, 16); }

/* To nearest, flushing to zero, denormals being zeros; answers how it was. */
TILE_FUNCTION unsigned round_as_the_unit(void)
{
    const unsigned control = _mm_getcsr();
    _mm_setcsr(0x1f80 | 0x8000 | 0x0040);
    return control;
}

/* c (rows, 16) += a (rows, pairs of k) b (pairs of k, 16). */
TILE_FUNCTION __attribute__((noinline)) void multiply_tiles(int rows, int pairs,
                                                            uint32_t (*c)[TILE_WORDS],
                                                            const uint32_t (*a)[TILE_WORDS],
                                                            const uint32_t (*b)[TILE_WORDS])
{
    __m512 right[TILE_ROWS][2];
    for (int k = 0; k < pairs; k++) {
        right[k][0] = even_k(_mm512_load_si512(b[k]));
        right[k][1] = odd_k(_mm512_load_si512(b[k]));
    }
    for (int m = 0; m < rows; m++) {
        __m512 even = _mm512_setzero_ps(), odd = even;
        for (int k = 0; k < pairs; k++) {
            const __m512i left = _mm512_set1_epi32((int)a[m][k]);
            even = _mm512_fmadd_ps(even_k(left), right[k][0], even);
            odd = _mm512_fmadd_ps(odd_k(left), right[k][1], odd);
        }
        const __m512 sum = _mm512_add_ps(_mm512_load_ps(c[m]), _mm512_add_ps(even, odd));
        _mm512_store_ps(c[m], sum);
    }
}

TILE_FUNCTION void tile_multiply(int c, int a, int b)
{
    const tile_registers *t = &tile_state;
    uint32_t (*sums)[TILE_WORDS] = tile_words(c), (*left)[TILE_WORDS] = tile_words(a);
    uint32_t (*right)[TILE_WORDS] = tile_words(b);
    tiles_must(a != b && a != c && b != c, "one is used twice");
    tiles_must(t->rows[c] == t->rows[a] && t->row_nbytes[c] == t->row_nbytes[b] &&
                   t->row_nbytes[a] == 4 * t->rows[b],
               "multiplied though their sizes do not match");
    const unsigned control = round_as_the_unit();
    multiply_tiles(t->rows[c], t->rows[b], sums, (const uint32_t (*)[TILE_WORDS])left,
                   (const uint32_t (*)[TILE_WORDS])right);
    _mm_setcsr(control);
}

/* Pairs are summed one number after the other. */
TILE_FUNCTION __m512 add_pairs(__m512 sums, __m512i a, __m512i b)
{
    const unsigned control = round_as_the_unit();
    __asm__ volatile("" : "+v"(sums), "+v"(a), "+v"(b));
    sums = _mm512_fmadd_ps(odd_k(a), odd_k(b), sums);
    sums = _mm512_fmadd_ps(even_k(a), even_k(b), sums);
    __asm__ volatile("" : "+v"(sums));
    _mm_setcsr(control);
    return sums;
}

#define _mm512_dpbf16_ps(sums, a, b) add_pairs(sums, (__m512i)(a), (__m512i)(b))

/* The nearest bfloat16, which are zero where floats or they are denormal. */
TILE_FUNCTION __m256i nearest_bfloat16(__m512 x)
{
    const __m512i bits = _mm512_castps_si512(x), ones = _mm512_set1_epi32(1);
    const __m512i last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), ones);
    const __m512i half = _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff));
    __m512i found = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
    const __m512i sign = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x8000));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __mmask16 is_tiny = _mm512_testn_epi32_mask(bits, _mm512_set1_epi32(0x7f800000));
    found = _mm512_mask_or_epi32(found, is_nan, _mm512_srli_epi32(bits, 16), _mm512_set1_epi32(64));
    return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(found, is_tiny, sign));
}

#define _mm512_cvtneps_pbh nearest_bfloat16

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#define _tile_loadconfig tiles_configure
#define _tile_release tiles_release
#define _tile_zero tile_set_zero
#define _tile_loadd tile_load
#define _tile_stream_loadd tile_load
#define _tile_stored tile_store
#define _tile_dpbf16ps tile_multiply
