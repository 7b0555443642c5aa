/* A program that has a Python of its own, loaded for itself alone as plugins do it, and then calls.
 * Arguments: libpython, libMIOpen. */

#define _POSIX_C_SOURCE 200809L

#include <dlfcn.h>
#include <string.h>

#include "check.h"

static void *python;

/* A function pointer from dlsym's object pointer. */
static void find(void *library, const char *name, void *function, size_t size)
{
    void *symbol = dlsym(library, name);
    CHECK(symbol);
    memcpy(function, &symbol, size);
}

int main(int argc, char **argv)
{
    void (*initialize)(int), (*restore)(void *);
    int (*run)(const char *), (*create)(void **);
    void *(*save)(void), *state, *handle, *library;
    CHECK(argc == 3);
    python = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    find(python, "Py_InitializeEx", &initialize, sizeof initialize);
    find(python, "PyRun_SimpleString", &run, sizeof run);
    find(python, "PyEval_SaveThread", &save, sizeof save);
    find(python, "PyEval_RestoreThread", &restore, sizeof restore);
    initialize(0);
    CHECK(run("mark = 1") == 0);
    state = save();
    library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    find(library, "miopenCreate", &create, sizeof create);
    EXPECT(0, create(&handle));
    restore(state);
    CHECK(run("import sys; assert mark and 'miopy.dialects.miopen' in sys.modules") == 0);
    return exit_status();
}
