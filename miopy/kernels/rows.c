/* rows.c: moving rows of bytes between packed and padded layouts, and filling.
 * No storage type: compiled once. */
#include "target.h"

/* What one thread moves at a time: 16, 8, 4, 2 or 1 bytes, as the alignment allows. */
typedef struct __attribute__((aligned(16))) {
    uint64_t low, high;
} word;

INLINE word load_word(const char *from, int64_t nbytes)
{
    word value = {0, 0};
    switch (nbytes) {
    case 16: value = *(const word *)from; break;
    case 8: value.low = *(const uint64_t *)from; break;
    case 4: value.low = *(const uint32_t *)from; break;
    case 2: value.low = *(const uint16_t *)from; break;
    case 1: value.low = *(const uint8_t *)from; break;
    }
    return value;
}

INLINE void store_word(char *to, word value, int64_t nbytes)
{
    switch (nbytes) {
    case 16: *(word *)to = value; break;
    case 8: *(uint64_t *)to = value.low; break;
    case 4: *(uint32_t *)to = (uint32_t)value.low; break;
    case 2: *(uint16_t *)to = (uint16_t)value.low; break;
    case 1: *(uint8_t *)to = (uint8_t)value.low; break;
    }
}

/* The largest word that divides all these addresses and distances, given their bits. */
INLINE int64_t word_nbytes(uint64_t bits)
{
    bits |= 16;
    return (int64_t)(bits & (~bits + 1));
}

/* Row i of `to`, nbytes long and dense, is row index[i] of source, whose rows are source_nbytes
 * apart; a negative index -1 - r stands for row r of `other`, whose rows are other_nbytes apart and
 * which is zero if NULL. index NULL: row i. */
KERNEL gather_rows(char *to, const char *source, const int64_t *index, const char *other,
                   int64_t other_nbytes, int64_t rows, int64_t nbytes, int64_t source_nbytes)
{
    const int64_t width = word_nbytes((uint64_t)to | (uint64_t)source | (uint64_t)other |
                                      other_nbytes | nbytes | source_nbytes);
    const int64_t words = nbytes / width;
    EACH(w, rows * words) {
        const int64_t i = quotient(w, words), at = (w - i * words) * width;
        const int64_t row = index ? index[i] : i;
        word value = {0, 0};
        if (row >= 0)
            value = load_word(source + row * source_nbytes + at, width);
        else if (other)
            value = load_word(other + (-1 - row) * other_nbytes + at, width);
        store_word(to + i * nbytes + at, value, width);
    }
}

/* Row index[i] of `to`, whose rows are to_nbytes apart, is row i of source, nbytes long and dense.
 * index NULL: row i. */
KERNEL scatter_rows(char *to, const char *source, const int64_t *index, int64_t rows,
                    int64_t nbytes, int64_t to_nbytes)
{
    const int64_t width = word_nbytes((uint64_t)to | (uint64_t)source | nbytes | to_nbytes);
    const int64_t words = nbytes / width;
    EACH(w, rows * words) {
        const int64_t i = quotient(w, words), at = (w - i * words) * width;
        const int64_t row = index ? index[i] : i;
        store_word(to + row * to_nbytes + at, load_word(source + i * nbytes + at, width), width);
    }
}

/* `count` items of 1, 2, 4 or 8 bytes, aligned: the low bytes of `item`, whose others are 0. */
KERNEL fill_items(char *to, uint64_t item, int64_t item_nbytes, int64_t count)
{
    const int64_t nbytes = item_nbytes * count;
    const int64_t width = word_nbytes((uint64_t)to | nbytes | 8);
    word value = {item, 0};
    for (int64_t known = item_nbytes; known < width; known *= 2)
        value.low |= value.low << 8 * known;
    EACH(w, nbytes / width)
        store_word(to + w * width, value, width);
}
