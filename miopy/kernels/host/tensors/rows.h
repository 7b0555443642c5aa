#ifndef MIOPY_ROWS_H
#define MIOPY_ROWS_H
#include <stdint.h>

/* `count` rows of nbytes each. */
typedef struct {
    void *to;
    const void *from;
    const int64_t *index;
    int64_t count, nbytes;
} rows_call;

/* Row i of `to` is row index[i] of `from`. */
void gather_rows(const rows_call *call);
/* Row index[i] of `to` is row i of `from`. */
void scatter_rows(const rows_call *call);
/* Each row of `to` is `from`; there is no index. */
void fill_items(const rows_call *call);
/* nbytes, as memmove. */
void copy_bytes(const rows_call *call);
#endif
