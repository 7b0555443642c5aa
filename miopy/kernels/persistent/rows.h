/* rows.h: the rows of a step that belong to some sequences, from arrays of all rows and steps. */
#ifndef MIOPY_ROWS_H
#define MIOPY_ROWS_H

#include "element.h"

/* How many of the p->capacity sequences from `first` on take part in step t. */
INLINE int rows_of_step(const block_steps *p, int64_t first, int t)
{
    if (t < 0 || t >= p->steps)
        return 0;
    const int64_t rows = p->offsets[t + 1] - p->offsets[t] - first;
    return (int)(rows < 0 ? 0 : rows < p->capacity ? rows : p->capacity);
}

/* The first of them among all rows of all steps; anything if there is none. */
INLINE int first_row_of_step(const block_steps *p, int64_t first, int t)
{
    return t < 0 || t >= p->steps ? 0 : (int)(p->offsets[t] + first);
}

/* An element of an array; NULL stays NULL. */
INLINE storage *storage_at(const void *array, int64_t at)
{
    return array ? (storage *)array + at : 0;
}

INLINE real *real_at(const void *array, int64_t at) { return array ? (real *)array + at : 0; }

/* A step of the sequences from `first` on, whose first row this is. `all` has all arrays from row 0
 * on. */
INLINE forward_step forward_rows(const forward_step *all, const block_steps *p, int64_t first,
                                 int64_t row)
{
    const int64_t H = p->hidden_size;
    forward_step s = *all;
    s.output = storage_at(all->output, row * all->output_row);
    s.y = storage_at(all->y, row * all->y_row);
    s.cells = real_at(all->cells, row * H);
    s.saved = storage_at(all->saved, row * SAVED * H);
    s.h = real_at(all->h, first * H);
    s.c = real_at(all->c, first * H);
    s.x_products = real_at(all->x_products, row * GATES * H);
    s.x = storage_at(all->x, row * all->x_row);
    s.attention = storage_at(all->attention, row);
    return s;
}

/* A step of backward, where `row_before` is the first row of the step that forward ran before. */
INLINE backward_step backward_rows(const backward_step *all, const block_steps *p, int64_t first,
                                   int64_t row, int64_t row_before)
{
    const int64_t H = p->hidden_size;
    backward_step s = *all;
    s.dgates = storage_at(all->dgates, row * all->dgates_row);
    s.dh = real_at(all->dh, first * H);
    s.dc = real_at(all->dc, first * H);
    s.dy = storage_at(all->dy, row * all->dy_row);
    s.mask = all->mask ? (const uint8_t *)all->mask + row * all->mask_row : 0;
    s.output = storage_at(all->output, row * all->output_row);
    s.cells = real_at(all->cells, row * H);
    s.saved = storage_at(all->saved, row * SAVED * H);
    s.output_before = storage_at(all->output, row_before * all->output_row);
    s.cells_before = real_at(all->cells, row_before * H);
    s.hx = all->order ? (storage *)all->hx : storage_at(all->hx, first * H);
    s.cx = all->order ? (storage *)all->cx : storage_at(all->cx, first * H);
    s.attention = storage_at(all->attention, row);
    s.order = all->order ? all->order + first : 0;
    return s;
}

#endif
