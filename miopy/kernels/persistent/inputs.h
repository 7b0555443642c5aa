/* inputs.h: how the inputs of a step lie where blocks exchange them: (rows, depth) of 16 bits in
 * tiles of 8 rows and 32 of depth, in words of two. */
#ifndef MIOPY_INPUTS_H
#define MIOPY_INPUTS_H

#include "../target.h"

#define EXCHANGE_ROWS 8
#define EXCHANGE_DEPTH 32
#define EXCHANGE_TILE (EXCHANGE_ROWS * EXCHANGE_DEPTH / 2) /* words */

/* The number of the word of a row and of k and k + 1, for an even k. */
INLINE int64_t input_word(int row, int k, int depth_tiles)
{
    const int tile = row / EXCHANGE_ROWS * depth_tiles + k / EXCHANGE_DEPTH;
    return (int64_t)tile * EXCHANGE_TILE + row % EXCHANGE_ROWS * (EXCHANGE_DEPTH / 2) +
           k % EXCHANGE_DEPTH / 2;
}

#endif
