/* walk.h: what a block that takes its sequences through many steps finds out once, or a step ahead:
 * which steps come, the rows of each, the scalars of the cell's math, and its states before and
 * after them. */
#ifndef MIOPY_WALK_H
#define MIOPY_WALK_H

#include "matrix.h"

#include "rows.h"

/* The steps of a launch in the order in which it takes them, of [low, high) at most: what is found
 * out once, and not in each step. */
typedef struct {
    const int64_t *offsets;
    int from, forth, low, high, count;
} step_walk;

INLINE step_walk walk_of(const block_steps *p, int backward)
{
    const int is_up = (p->reverse != 0) == backward;
    const step_walk walk = {p->offsets + anew(0),
                            anew((int)(is_up ? p->low : p->high - 1)),
                            anew(is_up ? 1 : -1),
                            anew(backward ? 0 : (int)p->low),
                            anew((int)(backward ? p->steps : p->high)),
                            anew((int)(p->high - p->low))};
    return walk;
}

INLINE step_range range_on_walk(const step_walk *walk, int step)
{
    const int t = walk->from + step * walk->forth;
    step_range of = {0, 0};
    if (t >= walk->low && t < walk->high) {
        of.begin = (int)walk->offsets[t];
        of.end = (int)walk->offsets[t + 1];
    }
    return of;
}

/* Of the step two behind this one. It has been asked for a step before, as the next one is now,
 * where there are registers to keep it. */
INLINE step_range range_two_steps_on(step_range *ahead, const step_walk *walk, int step)
{
    const step_range found = UNIT_TILES > 2 ? range_on_walk(walk, step + 2) : *ahead;
    if (UNIT_TILES <= 2)
        *ahead = range_on_walk(walk, step + 3);
    return found;
}

/* An element of a lane in a row, of an array whose rows are that many bytes. */
INLINE void *in_row(const void *array, int row, int row_nbytes)
{
    int64_t behind = (int64_t)row * row_nbytes;
#ifdef __CUDA_ARCH__ /* in one instruction, with the addition */
    asm("mul.wide.s32 %0, %1, %2;" : "=l"(behind) : "r"(row), "r"(row_nbytes));
#endif
    return (unsigned char *)array + behind;
}

/* The scalars of the cell's math as they are computed with, which no step converts anew. */
typedef struct {
    real of[SCALARS];
} cell_scalars;

INLINE cell_scalars scalars_of(const double *given)
{
    cell_scalars scalars;
    for (int i = 0; i < SCALARS; i++)
        scalars.of[i] = f32_of_bits(anew(bits_of_f32((real)given[i])));
    return scalars;
}

/* The states of a thread's elements, or their gradients. */
typedef struct {
    real of[UNIT_TILES][ELEMENTS][2];
} block_states;

/* Where a thread's element is in real (batch, H); negative if it is of no sequence or unit. */
INLINE int64_t place_of_element(const block_steps *p, int first, int unit_tile, int i)
{
    const int row = row_of_element(i), unit = unit_of_element(unit_tile, i);
    if (row >= p->capacity || first + row >= p->batch || unit >= p->hidden_size)
        return -1;
    return behind(first + row, p->hidden_size) + unit;
}

INLINE void take_states(block_states *states, const block_steps *p, int first, const void *h,
                        const void *c)
{
#pragma unroll
    for (int j = 0; j < UNIT_TILES; j++)
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++) {
            const int64_t at = place_of_element(p, first, j, i);
            states->of[j][i][0] = at < 0 ? zero : ((const real *)h)[at];
            states->of[j][i][1] = at < 0 || STATES == 1 ? zero : ((const real *)c)[at];
        }
}

INLINE void give_states(const block_states *states, const block_steps *p, int first, void *h,
                        void *c)
{
#pragma unroll
    for (int j = 0; j < UNIT_TILES; j++)
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++) {
            const int64_t at = place_of_element(p, first, j, i);
            if (at >= 0) {
                ((real *)h)[at] = states->of[j][i][0];
                if (STATES > 1)
                    ((real *)c)[at] = states->of[j][i][1];
            }
        }
}

#endif
