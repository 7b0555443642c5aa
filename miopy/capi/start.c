/* start.c: starts Python on the first call of a public library, whichever thread makes it. */
#define _GNU_SOURCE
#include "start.h"
#include "find.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

const struct miopy_table *miopy_started_table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char failure[2 * PATH_MAX]; /* "" until a start has failed; there is no second attempt */
static __thread int starting;      /* this thread is inside start_once */

static const struct miopy_table *start_once(char *why, size_t room)
{
    struct place place;
    if (miopy_find(&place, why, room) || miopy_load_python(&place, why, room))
        return NULL;
    void *library = dlopen(place.embedding, RTLD_NOW | RTLD_LOCAL);
    miopy_embed_start_function *start = library ? dlsym(library, "miopy_embed_start") : NULL;
    if (!start) {
        miopy_fail(why, room, "%s", dlerror());
        return NULL;
    }
    return start(&miopy_library, place.interpreter, place.site, why, room);
}

static const struct miopy_table *start_locked(void)
{
    if (miopy_started_table || failure[0])
        return miopy_started_table;
    starting = 1;
    const struct miopy_table *table = start_once(failure, sizeof failure);
    starting = 0;
    if (table)
        failure[0] = 0;
    else
        miopy_say(failure);
    __atomic_store_n(&miopy_started_table, table, __ATOMIC_RELEASE);
    return table;
}

/* Who holds the interpreter's lock must not wait for ours: its owner needs both to go on. */
static const struct miopy_table *start_without_python_lock(void)
{
    void *thread = NULL;
    if (miopy_python_runs()) { /* before that, another thread may be loading it */
        int (*holds)(void) = miopy_python_function("PyGILState_Check");
        void *(*release)(void) = miopy_python_function("PyEval_SaveThread");
        thread = holds() ? release() : NULL;
    }
    pthread_mutex_lock(&lock);
    const struct miopy_table *table = start_locked();
    pthread_mutex_unlock(&lock);
    if (thread) {
        void (*take)(void *) = miopy_python_function("PyEval_RestoreThread");
        take(thread);
    }
    return table;
}

const struct miopy_table *miopy_start(void)
{
    if (starting) {
        miopy_remember("Python was called while it starts");
        return NULL;
    }
    const struct miopy_table *table = start_without_python_lock();
    if (!table)
        miopy_remember(failure);
    return table;
}
