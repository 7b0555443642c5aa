/* The host's pool with a clock that says how long its two workers take to meet, and so how far
 * apart they are. Prints how many of some jobs, each after a large one, both had. */

#define _GNU_SOURCE
#include "pool/workers.h"
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static _Atomic long now, pace;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    const long nanoseconds = atomic_fetch_add(&now, pace);
    (void)clock;
    time->tv_sec = nanoseconds / 1000000000;
    time->tv_nsec = nanoseconds % 1000000000;
    return 0;
}

static void count(void *arg, worker w)
{
    if (!w.rank)
        *(int *)arg = w.threads;
}

static int shared(pool *p, effort e, int jobs)
{
    int both = 0;
    for (int i = 0, workers; i < jobs; i++) {
        pool_run(p, (effort){4000000, 0}, count, &workers); /* which leaves threads awake */
        pool_run(p, e, count, &workers);
        both += workers == 2;
    }
    return both;
}

/* Runs jobs until one is, or is not, for both; such jobs as are worth waking threads for. */
static void wait_for(pool *p, effort e, int workers)
{
    int had = 0;
    for (int i = 0; i < 100000 && had != workers; i++)
        pool_run(p, e, count, &had);
}

int main(void)
{
    const effort small = {300000, 0}, large = {1500000, 0};
    const effort short_steps = {3000000, 30000}, steps = {3000000, 60000};
    const effort long_steps = {3000000, 200000};
    pool *p = pool_create(2, BASE_BUILD);
    if (!p)
        return 1;
    pace = 10;
    printf("%d %d %d\n", shared(p, short_steps, 100), shared(p, small, 2000),
           shared(p, steps, 2000));
    pace = 1000000;
    wait_for(p, steps, 1);
    printf("%d %d %d %d\n", shared(p, small, 300), shared(p, steps, 300), shared(p, large, 2000),
           shared(p, long_steps, 2000));
    pace = 10;
    wait_for(p, steps, 2);
    printf("%d %d\n", shared(p, small, 2000), shared(p, steps, 2000));
    pool_destroy(p);
    return 0;
}
