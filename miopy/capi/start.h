/* start.h: the table of functions behind the public library. */
#ifndef MIOPY_START_H
#define MIOPY_START_H

#include <miopen/miopen.h>

struct miopy_table;

/* NULL before the first call. */
extern const struct miopy_table *miopy_started_table;

/* Find and start Python. NULL: it could not be; why is said on stderr, once. */
const struct miopy_table *miopy_start(void);

/* Sets the thread's last error and says it on stderr. */
miopenStatus_t miopy_not_implemented(const char *function);

/* A message that makes it into miopyGetLastError() where there is no table; text must stay. */
void miopy_remember(const char *text);
void miopy_say(const char *text);

static inline const struct miopy_table *miopy_table(void)
{
    const struct miopy_table *table = __atomic_load_n(&miopy_started_table, __ATOMIC_ACQUIRE);
    return __builtin_expect(table != 0, 1) ? table : miopy_start();
}

/* What miopy_embed_start of an embedding library is. Numbers of tables must agree. why: room for a
 * message, written where the result is NULL. */
typedef const struct miopy_table *miopy_embed_start_function(unsigned number,
                                                             const char *interpreter,
                                                             const char *site, char *why,
                                                             size_t room);

#endif
