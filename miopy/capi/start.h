/* start.h: the table of functions behind a public library. */
#ifndef MIOPY_START_H
#define MIOPY_START_H

#include <stddef.h>

/* What a public library is; generated with its forwarders. */
struct miopy_library {
    const char *dialect;        /* such as "miopen" */
    unsigned table_number;      /* of its struct <dialect>_table */
    const char *message_prefix; /* of lines on standard error */
    const char *log_variable;   /* of the environment; with the value */
    const char *log_quiet;      /* that means: no such lines */
};

extern const struct miopy_library miopy_library;

/* The enumerator of a status, NULL for other numbers; generated, too. */
const char *miopy_status_name(int status);

/* What the table of every dialect begins with. A text is of the calling thread. */
struct miopy_table {
    const char *(*last_error)(void);
    void (*set_last_error)(const char *text);
};

/* NULL before the first call. */
extern const struct miopy_table *miopy_started_table;

/* Find and start Python. NULL: it could not be; why is said on stderr, once. */
const struct miopy_table *miopy_start(void);

/* What was wrong with the thread's last call that failed, "" before any. */
const char *miopy_last_error(void);

/* Sets the thread's last error and says it on stderr. */
void miopy_not_implemented(const char *function);

/* A message that is the last error as long as there is no table; text must stay. */
void miopy_remember(const char *text);
void miopy_say(const char *text);

static inline const struct miopy_table *miopy_table(void)
{
    const struct miopy_table *table = __atomic_load_n(&miopy_started_table, __ATOMIC_ACQUIRE);
    return __builtin_expect(table != 0, 1) ? table : miopy_start();
}

/* What miopy_embed_start of the embedding library is. Numbers of tables must agree. why: room for a
 * message, written where the result is NULL. */
typedef const struct miopy_table *miopy_embed_start_function(const struct miopy_library *library,
                                                             const char *interpreter,
                                                             const char *site, char *why,
                                                             size_t room);

#endif
