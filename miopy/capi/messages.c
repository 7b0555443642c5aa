/* messages.c: what a public library says on standard error, and what it remembers of it. */
#include "start.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread char unimplemented[160];
static __thread const char *remembered = "";

static const struct miopy_table *table_if_started(void)
{
    return __atomic_load_n(&miopy_started_table, __ATOMIC_ACQUIRE);
}

/* Python keeps the messages; ours count as long as it has none for this thread. */
const char *miopy_last_error(void)
{
    const struct miopy_table *table = table_if_started();
    const char *text = table ? table->last_error() : "";
    return *text ? text : remembered;
}

void miopy_remember(const char *text) { remembered = text; }

void miopy_say(const char *text)
{
    const char *level = getenv(miopy_library.log_variable);
    if (!level || strcmp(level, miopy_library.log_quiet))
        fprintf(stderr, "%s: %s\n", miopy_library.message_prefix, text);
}

void miopy_not_implemented(const char *function)
{
    const struct miopy_table *table = table_if_started();
    snprintf(unimplemented, sizeof unimplemented, "%s: is not implemented", function);
    if (table)
        table->set_last_error(unimplemented);
    else
        miopy_remember(unimplemented);
    miopy_say(unimplemented);
}
