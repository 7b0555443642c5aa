/* rows.c: moving whole rows between packed and padded layouts. */
#include "rows.h"
#include <string.h>

void gather_rows(void *to, const void *from, const int64_t *index, int64_t rows, int64_t nbytes)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy((char *)to + i * nbytes, (const char *)from + index[i] * nbytes, nbytes);
}

void scatter_rows(void *to, const void *from, const int64_t *index, int64_t rows, int64_t nbytes)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy((char *)to + index[i] * nbytes, (const char *)from + i * nbytes, nbytes);
}

void fill_items(void *to, const void *item, int64_t count, int64_t itemsize)
{
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)to + i * itemsize, item, itemsize);
}

void copy_bytes(void *to, const void *from, int64_t nbytes) { memmove(to, from, nbytes); }
