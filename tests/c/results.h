/* What the clients that compute share: numbers, and a file of results for comparison with the same
 * calls made from Python. Any failure ends the program. */

#ifndef TESTS_RESULTS_H
#define TESTS_RESULTS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define MUST(call)                                                     \
    do {                                                               \
        int must_status = (int)(call);                                 \
        if (must_status) {                                             \
            report_failure(__FILE__, __LINE__, #call, must_status, 0); \
            exit(2);                                                   \
        }                                                              \
    } while (0)

/* Where write_result() writes; opened by main from its argument. */
static FILE *results;

static inline void open_results(int argc, char **argv)
{
    results = argc == 2 ? fopen(argv[1], "wb") : NULL;
    if (!results) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        exit(2);
    }
}

/* A name, a number of bytes, and the bytes, which are in host memory. */
static inline void write_result(const char *name, const void *bytes, size_t nbytes)
{
    fprintf(results, "%s %zu\n", name, nbytes);
    fwrite(bytes, 1, nbytes, results);
}

/* `count` floats in host memory from -scale to scale, always the same. */
static inline float *host_floats(size_t count, float scale)
{
    static uint32_t state = 1;
    float *values = (float *)malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = scale * ((float)(state >> 8) / 8388608.0f - 1.0f);
    }
    return values;
}

#endif
