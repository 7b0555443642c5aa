/* pool.c: a small worker pool made for latency. */
#include "workers.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE 64
#define SPINS 4000 /* then a waiting worker yields or sleeps */

#if defined(__x86_64__)
#define RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define RELAX() __asm__ volatile("yield")
#else
#define RELAX() ((void)0)
#endif

typedef struct {
    _Alignas(LINE) _Atomic uint32_t arrived;
    _Alignas(LINE) _Atomic uint32_t phase;
} team;

struct pool {
    _Alignas(LINE) _Atomic uint32_t job_number; /* bumped to start a job */
    _Alignas(LINE) _Atomic int running;         /* helpers not done yet */
    void (*job)(void *, worker);
    void *arg;
    int size, helpers; /* workers wanted; helper threads alive */
    _Atomic int closing;
    pid_t process;           /* the process whose threads these are */
    pthread_mutex_t entry;   /* one job at a time */
    pthread_mutex_t asleep;  /* guards the wake-up below */
    pthread_cond_t wake;
    pthread_t *ids;
    struct start *starts;
    team *teams;
};

struct start {
    pool *pool;
    int rank;
    uint32_t seen;
};

static void wait_for_job(pool *p, uint32_t seen)
{
    for (int n = 0; n < SPINS; n++) {
        if (atomic_load_explicit(&p->job_number, memory_order_acquire) != seen)
            return;
        RELAX();
    }
    pthread_mutex_lock(&p->asleep);
    while (atomic_load(&p->job_number) == seen)
        pthread_cond_wait(&p->wake, &p->asleep);
    pthread_mutex_unlock(&p->asleep);
}

static void *helper(void *arg)
{
    struct start start = *(struct start *)arg;
    pool *p = start.pool;
    for (uint32_t seen = start.seen;;) {
        wait_for_job(p, seen);
        seen++;
        if (atomic_load(&p->closing))
            return 0;
        p->job(p->arg, (worker){p, start.rank, p->helpers + 1});
        atomic_fetch_sub_explicit(&p->running, 1, memory_order_release);
    }
}

static void publish_job(pool *p)
{
    pthread_mutex_lock(&p->asleep);
    atomic_fetch_add(&p->job_number, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->asleep);
}

/* After a fork the child has none of the helpers and locks in unknown states. */
static void begin_process(pool *p)
{
    p->process = getpid();
    p->helpers = 0;
    atomic_store(&p->running, 0);
    for (int t = 0; t < p->size; t++)
        atomic_store(&p->teams[t].arrived, 0);
    pthread_mutex_init(&p->entry, 0);
    pthread_mutex_init(&p->asleep, 0);
    pthread_cond_init(&p->wake, 0);
}

static void start_helpers(pool *p)
{
    while (p->helpers < p->size - 1) {
        struct start *start = p->starts + p->helpers;
        *start = (struct start){p, p->helpers + 1, atomic_load(&p->job_number)};
        if (pthread_create(p->ids + p->helpers, 0, helper, start))
            return; /* fewer workers compute the same numbers */
        p->helpers++;
    }
}

pool *pool_create(int threads)
{
    pool *p = aligned_alloc(LINE, (sizeof *p + LINE - 1) / LINE * LINE);
    if (!p)
        return 0;
    *p = (pool){.size = threads < 1 ? 1 : threads};
    p->ids = calloc(p->size, sizeof *p->ids);
    p->starts = calloc(p->size, sizeof *p->starts);
    p->teams = aligned_alloc(LINE, p->size * sizeof *p->teams);
    if (!p->ids || !p->starts || !p->teams) {
        free(p->ids), free(p->starts), free(p->teams), free(p);
        return 0;
    }
    for (int t = 0; t < p->size; t++)
        p->teams[t] = (team){0};
    begin_process(p);
    return p;
}

void pool_destroy(pool *p)
{
    if (p->process == getpid() && p->helpers) {
        atomic_store(&p->closing, 1);
        publish_job(p);
        for (int i = 0; i < p->helpers; i++)
            pthread_join(p->ids[i], 0);
    }
    free(p->ids), free(p->starts), free(p->teams), free(p);
}

int pool_threads(const pool *p) { return p->size; }

void pool_run(pool *p, void (*job)(void *, worker), void *arg)
{
    if (p->process != getpid())
        begin_process(p);
    pthread_mutex_lock(&p->entry);
    start_helpers(p);
    p->job = job;
    p->arg = arg;
    atomic_store_explicit(&p->running, p->helpers, memory_order_relaxed);
    if (p->helpers)
        publish_job(p);
    job(arg, (worker){p, 0, p->helpers + 1});
    for (int n = 0; atomic_load_explicit(&p->running, memory_order_acquire);)
        if (++n < SPINS)
            RELAX();
        else
            sched_yield();
    pthread_mutex_unlock(&p->entry);
}

void team_barrier(worker w, int number, int size)
{
    if (size == 1)
        return;
    team *t = w.pool->teams + number;
    uint32_t phase = atomic_load_explicit(&t->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) == (uint32_t)size - 1) {
        atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&t->phase, phase + 1, memory_order_release);
        return;
    }
    for (int n = 0; atomic_load_explicit(&t->phase, memory_order_acquire) == phase;)
        if (++n < SPINS)
            RELAX();
        else
            sched_yield(); /* a partner was preempted: let it have this core */
}
