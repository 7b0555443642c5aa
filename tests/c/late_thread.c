/* A thread looks for Python before there is any, and goes on once another thread has started it. */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <miopen/miopen.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

typedef void *lookup(void *, const char *);

static __thread int is_late;
static int waits, has_started; /* of the late thread, and of Python */

static void wait_for(const int *flag)
{
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        usleep(1000);
}

static lookup *real_lookup(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    void *found = NULL;
    lookup *function;
    for (int i = 0; i < 3 && !found; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    memcpy(&function, &found, sizeof function);
    return function;
}

/* Stands before the C library's: the late thread asks whether Python runs when it already does. */
void *dlsym(void *handle, const char *name)
{
    if (is_late && !strcmp(name, "Py_IsInitialized")) {
        __atomic_store_n(&waits, 1, __ATOMIC_RELEASE);
        wait_for(&has_started);
    }
    return real_lookup()(handle, name);
}

static void *call_late(void *argument)
{
    miopenHandle_t handle;
    is_late = 1;
    EXPECT(miopenStatusSuccess, miopenCreate(&handle));
    EXPECT(miopenStatusSuccess, miopenDestroy(handle));
    return argument;
}

int main(void)
{
    pthread_t late;
    miopenHandle_t handle;
    pthread_create(&late, NULL, call_late, NULL);
    wait_for(&waits);
    EXPECT(miopenStatusSuccess, miopenCreate(&handle));
    __atomic_store_n(&has_started, 1, __ATOMIC_RELEASE);
    pthread_join(late, NULL);
    EXPECT(miopenStatusSuccess, miopenDestroy(handle));
    return exit_status();
}
