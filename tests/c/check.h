/* Checks of the C clients: each failure is one line on standard error, and the exit status counts.
 */

#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdio.h>

static int num_failures;

#define CHECK(condition)                                          \
    do {                                                          \
        if (!(condition))                                         \
            report_failure(__FILE__, __LINE__, #condition, 0, 1); \
    } while (0)

/* That a call gives a certain status. */
#define EXPECT(status, call)                                                        \
    do {                                                                            \
        int found_status = (int)(call);                                             \
        if (found_status != (int)(status))                                          \
            report_failure(__FILE__, __LINE__, #call, found_status, (int)(status)); \
    } while (0)

static inline void report_failure(const char *file, int line, const char *text, int found,
                                  int expected)
{
    num_failures++;
    fprintf(stderr, "%s:%d: %s is %d, not %d\n", file, line, text, found, expected);
}

static inline int exit_status(void) { return num_failures ? 1 : 0; }

#endif
