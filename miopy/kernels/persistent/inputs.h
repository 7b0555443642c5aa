/* inputs.h: how the inputs of a step lie where blocks exchange them: (rows, depth) in tiles of
 * TILE_ROWS rows, which the compiling side defines, and 16 words of depth, of PACKED inputs each.
 */
#ifndef MIOPY_INPUTS_H
#define MIOPY_INPUTS_H

#include "block.h"

#define EXCHANGE_DEPTH (16 * PACKED)
#define EXCHANGE_TILE (TILE_ROWS * 16) /* words */

/* The number of the word of a row and of PACKED k, the first of which this is. */
INLINE uint32_t input_word(uint32_t row, uint32_t k, uint32_t depth_tiles)
{
    const uint32_t tile = row / TILE_ROWS * depth_tiles + k / EXCHANGE_DEPTH;
    return tile * EXCHANGE_TILE + row % TILE_ROWS * 16 + k % EXCHANGE_DEPTH / PACKED;
}

#endif
