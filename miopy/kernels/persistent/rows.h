/* rows.h: the rows of a step that belong to some sequences, from arrays of all rows and steps. */
#ifndef MIOPY_ROWS_H
#define MIOPY_ROWS_H

#include "element.h"

/* Where a step's rows begin among all rows of all steps, and end; nothing of a step that is not
 * there. They are asked for a step before they are looked at: no step waits for them. */
typedef struct {
    int begin, end;
} step_range;

INLINE step_range range_of_step(const block_steps *p, int t)
{
    step_range of = {0, 0};
    if (t < 0 || t >= p->steps)
        return of;
    of.begin = (int)p->offsets[t];
    of.end = (int)p->offsets[t + 1];
    return of;
}

/* Those of at most *capacity sequences from `first` on: their first row, and how many they are. The
 * capacity is read where it counts: before, there may be no register for it. */
typedef struct {
    int row, count;
} step_rows;

INLINE step_rows rows_of(step_range all, int first, const int *capacity)
{
    const int rows = all.end - all.begin - first;
    const step_rows of = {all.begin + first, rows < 0 ? 0 : rows < *capacity ? rows : *capacity};
    return of;
}

INLINE step_rows rows_of_step(const block_steps *p, int first, int t)
{
    return rows_of(range_of_step(p, t), first, &p->capacity);
}

/* An element of an array; NULL stays NULL. */
INLINE storage *storage_at(const void *array, int64_t at)
{
    return array ? (storage *)array + at : 0;
}

INLINE real *real_at(const void *array, int64_t at) { return array ? (real *)array + at : 0; }

/* A step of the sequences from `first` on, whose first row this is. `all` has all arrays from row 0
 * on. */
INLINE forward_step forward_rows(const forward_step *all, const block_steps *p, int first, int row)
{
    const int64_t H = p->hidden_size;
    forward_step s = *all;
    s.output = storage_at(all->output, row * all->output_row);
    s.y = storage_at(all->y, row * all->y_row);
    s.cells = real_at(all->cells, behind(row, H));
    s.saved = storage_at(all->saved, behind(row, SAVED * H));
    s.h = real_at(all->h, behind(first, H));
    s.c = real_at(all->c, behind(first, H));
    s.x_products = real_at(all->x_products, behind(row, GATES * H));
    s.x = storage_at(all->x, row * all->x_row);
    s.attention = storage_at(all->attention, row);
    return s;
}

/* A step of backward, where `row_before` is the first row of the step that forward ran before. */
INLINE backward_step backward_rows(const backward_step *all, const block_steps *p, int first,
                                   int row, int row_before)
{
    const int64_t H = p->hidden_size;
    backward_step s = *all;
    s.dgates = storage_at(all->dgates, row * all->dgates_row);
    s.dh = real_at(all->dh, behind(first, H));
    s.dc = real_at(all->dc, behind(first, H));
    s.dy = storage_at(all->dy, row * all->dy_row);
    s.mask = all->mask ? (const uint8_t *)all->mask + row * all->mask_row : 0;
    s.output = storage_at(all->output, row * all->output_row);
    s.cells = real_at(all->cells, behind(row, H));
    s.saved = storage_at(all->saved, behind(row, SAVED * H));
    s.output_before = storage_at(all->output, row_before * all->output_row);
    s.cells_before = real_at(all->cells, behind(row_before, H));
    s.hx = all->order ? (storage *)all->hx : storage_at(all->hx, behind(first, H));
    s.cx = all->order ? (storage *)all->cx : storage_at(all->cx, behind(first, H));
    s.attention = storage_at(all->attention, row);
    s.order = all->order ? all->order + first : 0;
    return s;
}

#endif
