/* walk.h: a strided walk as the host does it, the last dimension being the columns. */
#ifndef MIOPY_HOST_WALK_H
#define MIOPY_HOST_WALK_H

#include "../../strided.h"

/* 1 to MAX_DIMS lengths. */
static inline walk_shape shape_of(int dims, const int64_t *lengths)
{
    walk_shape shape = {.dims = dims - 1, .rows = 1, .columns = lengths[dims - 1]};
    for (int dim = 0; dim < dims - 1; dim++) {
        shape.length[dim] = lengths[dim];
        shape.rows *= lengths[dim];
    }
    return shape;
}

static inline walk_strides strides_of(int dims, const int64_t *strides)
{
    walk_strides walk = {.column = strides[dims - 1]};
    for (int dim = 0; dim < dims - 1; dim++)
        walk.row[dim] = strides[dim];
    return walk;
}

#endif
