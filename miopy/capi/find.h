/* find.h: which Python serves this library. */
#ifndef MIOPY_FIND_H
#define MIOPY_FIND_H

#include <limits.h>

/* Paths are absolute and resolved. */
struct place {
    char package[PATH_MAX];     /* the folder miopy */
    char site[PATH_MAX];        /* where it lies, such as site-packages */
    char version[16];           /* of Python, such as "3.11" */
    char interpreter[PATH_MAX]; /* "" where Python runs already */
    char embedding[PATH_MAX];   /* the embedding library */
};

/* A function of the Python in this process, NULL if there is none. */
void *miopy_python_function(const char *name);
int miopy_python_runs(void);

/* Each returns 0, or -1 with a message in why. */
int miopy_find(struct place *place, char *why, size_t room);
int miopy_load_python(const struct place *place, char *why, size_t room);

int miopy_fail(char *why, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
