/* reduce.c: sums over the rows and over the planes of a matrix, rows a_row elements apart.
 *
 * A sum over rows is made in two steps, so that there are enough threads: each chunk of rows into a
 * row of `partial`, then those. The order of the additions depends on the shape alone. */
#include "storage.h"

/* partial[chunk][column] = the sum of column over the chunk's rows: chunk_rows, the last fewer. */
KERNEL FN(partial_sums)(real *partial, const storage *a, int64_t a_row, int64_t rows,
                        int64_t columns, int64_t chunk_rows)
{
    const int64_t chunks = (rows + chunk_rows - 1) / chunk_rows;
    EACH(e, chunks * columns) {
        const int64_t chunk = quotient(e, columns), column = e - chunk * columns;
        const int64_t first = chunk * chunk_rows;
        const int64_t end = rows - first < chunk_rows ? rows : first + chunk_rows;
        real sum = 0;
        for (int64_t row = first; row < end; row++)
            sum += to_real(a[row * a_row + column]);
        partial[e] = sum;
    }
}

/* sums[column] = the sum of partial[...][column], or += with `accumulate`. */
KERNEL FN(column_sums)(storage *sums, const real *partial, int64_t chunks, int64_t columns,
                       int accumulate)
{
    EACH(column, columns) {
        real sum = accumulate ? to_real(sums[column]) : 0;
        for (int64_t chunk = 0; chunk < chunks; chunk++)
            sum += partial[chunk * columns + column];
        sums[column] = to_storage(sum);
    }
}

#define MOST_OFFSETS 16

typedef struct {
    int count; /* 0 to MOST_OFFSETS */
    int64_t offset[MOST_OFFSETS];
} plane_list;

/* out[row][column] = the sum of a[row][offset + column] over the planes that start there. */
KERNEL FN(plane_sums)(storage *out, int64_t out_row, const storage *a, int64_t a_row, int64_t rows,
                      int64_t columns, plane_list planes)
{
    EACH(e, rows * columns) {
        const int64_t row = quotient(e, columns), column = e - row * columns;
        real sum = 0;
        for (int plane = 0; plane < MOST_OFFSETS; plane++) /* unrolled: planes is in no memory */
            if (plane < planes.count)
                sum += to_real(a[row * a_row + planes.offset[plane] + column]);
        out[row * out_row + column] = to_storage(sum);
    }
}
