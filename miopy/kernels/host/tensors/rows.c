/* rows.c: moving whole rows between packed and padded layouts. */
#include "rows.h"
#include <string.h>

void gather_rows(const rows_call *c)
{
    for (int64_t i = 0; i < c->count; i++)
        memcpy((char *)c->to + i * c->nbytes, (const char *)c->from + c->index[i] * c->nbytes,
               c->nbytes);
}

void scatter_rows(const rows_call *c)
{
    for (int64_t i = 0; i < c->count; i++)
        memcpy((char *)c->to + c->index[i] * c->nbytes, (const char *)c->from + i * c->nbytes,
               c->nbytes);
}

void fill_items(const rows_call *c)
{
    for (int64_t i = 0; i < c->count; i++)
        memcpy((char *)c->to + i * c->nbytes, c->from, c->nbytes);
}

void copy_bytes(const rows_call *c) { memmove(c->to, c->from, c->nbytes); }
