/* answers.c: what the public library answers without Python. */
#include "start.h"
#include "table.h"
#include <miopen/miopy.h>
#include <miopen/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread char unimplemented[160];
static __thread const char *remembered = "";

miopenStatus_t miopenGetVersion(size_t *major, size_t *minor, size_t *patch)
{
    if (major)
        *major = MIOPEN_VERSION_MAJOR;
    if (minor)
        *minor = MIOPEN_VERSION_MINOR;
    if (patch)
        *patch = MIOPEN_VERSION_PATCH;
    return miopenStatusSuccess;
}

/* Python keeps the messages; ours count as long as it has none for this thread. */
const char *miopyGetLastError(void)
{
    const struct miopy_table *table = __atomic_load_n(&miopy_started_table, __ATOMIC_ACQUIRE);
    const char *text = table ? table->last_error() : "";
    return *text ? text : remembered;
}

void miopy_remember(const char *text) { remembered = text; }

/* As MIOpen, whatever the log level but 1, which means quiet. */
void miopy_say(const char *text)
{
    const char *level = getenv("MIOPEN_LOG_LEVEL");
    if (!level || strcmp(level, "1"))
        fprintf(stderr, "MIOpen Error: %s\n", text);
}

miopenStatus_t miopy_not_implemented(const char *function)
{
    const struct miopy_table *table = __atomic_load_n(&miopy_started_table, __ATOMIC_ACQUIRE);
    snprintf(unimplemented, sizeof unimplemented, "%s: is not implemented", function);
    if (table)
        table->set_last_error(unimplemented);
    else
        miopy_remember(unimplemented);
    miopy_say(unimplemented);
    return miopenStatusNotImplemented;
}
