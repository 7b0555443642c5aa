#ifndef MIOPY_ROWS_H
#define MIOPY_ROWS_H
#include <stdint.h>

/* Row i of `to`, nbytes long, is row index[i] of `from`. */
void gather_rows(void *to, const void *from, const int64_t *index, int64_t rows, int64_t nbytes);
/* Row index[i] of `to` is row i of `from`. */
void scatter_rows(void *to, const void *from, const int64_t *index, int64_t rows, int64_t nbytes);
/* `count` items of `itemsize` bytes, each a copy of `item`. */
void fill_items(void *to, const void *item, int64_t count, int64_t itemsize);
/* As memmove. */
void copy_bytes(void *to, const void *from, int64_t nbytes);
#endif
