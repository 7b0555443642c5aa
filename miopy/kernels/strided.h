/* strided.h: walking strided tensors of equal lengths, row by row.
 *
 * The backend cuts the lengths into rows (the leading dimensions, up to MAX_DIMS of them) and
 * columns (what one iteration covers): the host takes the last dimension for columns, a GPU takes
 * one column per row. Element (row, column) is at start_of(row) + column * strides.column. */
#ifndef MIOPY_STRIDED_H
#define MIOPY_STRIDED_H

#include "target.h"

#define MAX_DIMS 5

typedef struct {
    int dims;
    int64_t rows, columns, length[MAX_DIMS];
} walk_shape;

/* In elements. */
typedef struct {
    int64_t row[MAX_DIMS], column;
} walk_strides;

INLINE int64_t start_of(int64_t row, walk_shape shape, walk_strides strides)
{
    int64_t start = 0;
    for (int dim = MAX_DIMS - 1; dim > 0; dim--) /* unrolled, so that a GPU needs no array */
        if (dim < shape.dims) {
            const int64_t above = quotient(row, shape.length[dim]);
            start += (row - above * shape.length[dim]) * strides.row[dim];
            row = above;
        }
    return start + row * strides.row[0];
}

#endif
