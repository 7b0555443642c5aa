/* find.c: which Python serves this library. No Python header is used and no libpython is linked:
 * the same object serves every Python.
 *
 * In order: the Python in this process; MIOPY_PYTHON; the environment that the package is installed
 * in; the interpreter noted when it was built, for editable installs and folders of their own;
 * pythonX.Y on PATH. The version is that of the Python in this process, of the environment's
 * folder, of the note, or of whatever embedding library there is. */
#define _GNU_SOURCE
#include <stddef.h>

#include "find.h"
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EMBEDDING "_embed.cpython-"
#define NOTE "_sdk/lib/python.txt" /* version and interpreter, a line each */

int miopy_fail(char *why, size_t room, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, room, format, arguments);
    va_end(arguments);
    return -1;
}

/* Whether it fits. */
__attribute__((format(printf, 2, 3))) static int print_path(char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(path, PATH_MAX, format, arguments);
    va_end(arguments);
    return length < PATH_MAX;
}

static void cut(char *path, int components)
{
    while (components--) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = 0;
    }
}

/* ---- The Python in this process ------------------------------------------------------------ */

static int is_libpython(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (strncmp(slash ? slash + 1 : info->dlpi_name, "libpython3.", 11))
        return 0;
    return print_path(found, "%s", info->dlpi_name);
}

void *miopy_python_function(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    char path[PATH_MAX];
    if (function || !dl_iterate_phdr(is_libpython, path))
        return function;
    /* A host loaded it for itself alone, as plugins do; the embedding library needs it global. */
    dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    return dlsym(RTLD_DEFAULT, name);
}

int miopy_python_runs(void)
{
    int (*is_initialized)(void) = miopy_python_function("Py_IsInitialized");
    return is_initialized && is_initialized();
}

/* ---- The package and its embedding library ------------------------------------------------- */

/* "3.11" of ".../lib/python3.11/...": the environment's root is what precedes "/lib". */
static char *environment_of(const char *package, char *version, size_t room)
{
    char *found = strstr(package, "/lib/python3.");
    size_t skip = strlen("/lib/python");
    if (!found) {
        found = strstr(package, "/lib64/python3.");
        skip = strlen("/lib64/python");
    }
    if (found)
        snprintf(version, room, "%.*s", (int)strcspn(found + skip, "/"), found + skip);
    return found;
}

static int read_note(const struct place *place, char *version, size_t room, char *interpreter)
{
    char path[PATH_MAX];
    if (!print_path(path, "%s/" NOTE, place->package))
        return 0;
    FILE *note = fopen(path, "r");
    if (!note)
        return 0;
    int complete = fgets(version, room, note) && fgets(interpreter, PATH_MAX, note);
    fclose(note);
    if (complete) {
        version[strcspn(version, "\n")] = 0;
        interpreter[strcspn(interpreter, "\n")] = 0;
    }
    return complete;
}

static void choose_version(struct place *place)
{
    const char *(*running)(void) = miopy_python_function("Py_GetVersion");
    char interpreter[PATH_MAX];
    place->version[0] = 0;
    if (running) {
        int major = 0, minor = 0;
        sscanf(running(), "%d.%d", &major, &minor);
        snprintf(place->version, sizeof place->version, "%d.%d", major, minor);
    } else if (!environment_of(place->package, place->version, sizeof place->version)) {
        read_note(place, place->version, sizeof place->version, interpreter);
    }
}

/* "3.11" of "_embed.cpython-311-x86_64-linux-gnu.so", "" of other names. */
static void version_of(const char *name, char *version, size_t room)
{
    version[0] = 0;
    const char *digits = name + strlen(EMBEDDING);
    if (!strncmp(name, EMBEDDING, strlen(EMBEDDING)) && strspn(digits, "0123456789") > 1)
        snprintf(version, room, "%c.%.*s", digits[0], (int)strcspn(digits + 1, "-."), digits + 1);
}

/* The embedding library of place->version, or of any version where that is "" and set then. */
static int find_embedding(struct place *place)
{
    DIR *folder = opendir(place->package);
    struct dirent *each;
    int found = 0;
    while (folder && !found && (each = readdir(folder))) {
        char version[sizeof place->version];
        version_of(each->d_name, version, sizeof version);
        if (version[0] && (!place->version[0] || !strcmp(version, place->version))) {
            strcpy(place->version, version);
            found = print_path(place->embedding, "%s/%s", place->package, each->d_name);
        }
    }
    if (folder)
        closedir(folder);
    return found;
}

/* ---- The interpreter ----------------------------------------------------------------------- */

static int find_on_path(char *interpreter, const char *version)
{
    const char *path = secure_getenv("PATH");
    if (!path)
        path = "/usr/local/bin:/usr/bin";
    while (*path) {
        int length = strcspn(path, ":");
        if (length && print_path(interpreter, "%.*s/python%s", length, path, version) &&
            !access(interpreter, X_OK))
            return 1;
        path += length + (path[length] == ':');
    }
    return 0;
}

static int find_interpreter(struct place *place, char *why, size_t room)
{
    const char *named = secure_getenv("MIOPY_PYTHON");
    if (named && *named) {
        if (print_path(place->interpreter, "%s", named) && !access(named, X_OK))
            return 0;
        return miopy_fail(why, room, "MIOPY_PYTHON=%s is not a program", named);
    }
    char version[sizeof place->version];
    const char *end = environment_of(place->package, version, sizeof version);
    int root = end ? end - place->package : 0;
    if (end && print_path(place->interpreter, "%.*s/bin/python%s", root, place->package, version) &&
        !access(place->interpreter, X_OK))
        return 0;
    if (read_note(place, version, sizeof version, place->interpreter) &&
        !strcmp(version, place->version) && !access(place->interpreter, X_OK))
        return 0;
    if (find_on_path(place->interpreter, place->version))
        return 0;
    return miopy_fail(why, room, "no python%s found for %s; name one in MIOPY_PYTHON",
                      place->version, place->package);
}

int miopy_find(struct place *place, char *why, size_t room)
{
    Dl_info self;
    if (!dladdr((void *)miopy_find, &self) || !realpath(self.dli_fname, place->package))
        return miopy_fail(why, room, "the library cannot tell where it is");
    cut(place->package, 3); /* _sdk/lib/libMIOpen.so.1 */
    strcpy(place->site, place->package);
    cut(place->site, 1);
    choose_version(place);
    if (!find_embedding(place))
        return miopy_fail(why, room, "%s is not built for Python %s", place->package,
                          place->version[0] ? place->version : "3");
    place->interpreter[0] = 0;
    return miopy_python_runs() ? 0 : find_interpreter(place, why, room);
}

/* ---- Its library --------------------------------------------------------------------------- */

/* ld.so may find the libpython of another Python: take it only from <prefix>/lib... */
static int belongs(void *library, const char *prefix)
{
    struct link_map *map;
    char path[PATH_MAX];
    size_t length = strlen(prefix);
    return !dlinfo(library, RTLD_DI_LINKMAP, &map) && realpath(map->l_name, path) &&
           !strncmp(path, prefix, length) && !strncmp(path + length, "/lib", 4);
}

static void *open_beside(const char *interpreter, const char *version)
{
    char prefix[PATH_MAX], path[PATH_MAX], name[64];
    if (!realpath(interpreter, prefix))
        return NULL;
    cut(prefix, 2); /* bin/python */
    snprintf(name, sizeof name, "libpython%s.so.1.0", version);
    if (print_path(path, "%s/lib/%s", prefix, name) && !access(path, R_OK))
        return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return NULL;
    if (belongs(library, prefix))
        return dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    dlclose(library);
    return NULL;
}

int miopy_load_python(const struct place *place, char *why, size_t room)
{
    if (miopy_python_function("Py_IsInitialized"))
        return 0;
    const char *named = secure_getenv("MIOPY_LIBPYTHON");
    if (named && *named) {
        if (dlopen(named, RTLD_NOW | RTLD_GLOBAL))
            return 0;
        return miopy_fail(why, room, "MIOPY_LIBPYTHON: %s", dlerror());
    }
    if (open_beside(place->interpreter, place->version))
        return 0;
    return miopy_fail(why, room,
                      "%s has no shared library: install libpython%s, or take a Python that has "
                      "one, or name it in MIOPY_LIBPYTHON",
                      place->interpreter, place->version);
}
