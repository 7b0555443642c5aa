/* pool.c: a small worker pool made for latency. */
#define _GNU_SOURCE
#include "workers.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LINE 64
/* How often a worker that waits for others looks before it offers them its processor, and
 * nanoseconds for which it then does before it sleeps: a hypervisor may take the other's processor
 * away for as long, and gives back one that sleeps so late that both go on missing each other. */
#define SPINS 4000
#define PATIENCE 10000000

/* Workers of which each looks at the very word that all change as they come; more would hold each
 * other up. */
enum { FEW_WORKERS = 4 };
/* Multiply-adds for each of up to those few workers that are worth sharing with threads that spin;
 * of a step, that take as long as each worker adds to a meeting; and in all, worth waking threads,
 * which takes some 50 microseconds. */
enum { WORTH_SHARING = 125000, MEETING = 10000, WORTH_WAKING = 2000000 };
/* Nanoseconds within which jobs follow each other closely, and how many of these in a row are worth
 * waking threads for what comes next: more than a call has. */
enum { CLOSELY = 100000, WORTH_A_WAKE = 16 };
/* Few workers are far from each other, in different parts of a processor, if a job of some meetings
 * takes so many nanoseconds for each, and each worker but the caller; sharing then costs FAR times
 * as much. A hypervisor may move them at any time: of jobs for which it matters one in so many
 * looks again, seldom where they are far, as their threads may sleep. Measured with two. */
enum { LOOKS = 3, MEETINGS = 8, FAR_NANOSECONDS = 200, FAR = 4 };
enum { JOBS_OF_NEAR = 100, JOBS_OF_FAR = 1000 };
enum { USUAL_SECOND_LEVEL = 1 << 19 }; /* bytes */

#if defined(__x86_64__)
#define RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define RELAX() __asm__ volatile("yield")
#else
#define RELAX() ((void)0)
#endif

typedef struct {
    pool *pool;
    int rank;
    uint32_t seen; /* number of the last job that is not its own */
    pthread_t id;
} thread;

struct pool {
    _Alignas(LINE) _Atomic uint32_t job_number; /* bumped to start a job */
    _Alignas(LINE) _Atomic uint64_t done;       /* threads, with this job */
    _Alignas(LINE) _Atomic uint64_t came;       /* workers, to all its meetings so far */
    _Alignas(LINE) _Atomic uint64_t met; /* the same when one was over, of more than FEW_WORKERS */
    _Alignas(LINE) _Atomic uint64_t steps; /* that are done of the layer that FEEDS another */
    _Alignas(LINE) void (*job)(void *, worker);
    void *arg;
    int size, build, started; /* workers wanted; threads alive */
    _Atomic int idle;         /* threads asleep until the next job */
    int64_t last_alone;       /* when a job was last not worth waking them, in nanoseconds */
    int close;                /* such jobs that followed each other closely */
    int far, known;           /* whether workers are far; jobs for which that is known */
    int64_t second_level, third_level; /* bytes of those caches: see pool_second_level() */
#if defined(__linux__)
    cpu_set_t allowed; /* the processors its threads were told to use */
#endif
    _Atomic int closing;
    unsigned process;       /* the process whose threads these are, as `num_forks` says */
    _Atomic int sleepers;   /* workers asleep at a meeting or the end of a job */
    pthread_mutex_t asleep; /* guards the wake-ups below */
    pthread_cond_t wake, reached;
    thread threads[];
};

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Waits until so many are counted. Yielding helps a partner that wants this very processor; while
 * one waits for another, this worker sleeps. */
static void wait_for(pool *p, _Atomic uint64_t *count, uint64_t least)
{
    for (int n = 0; n < SPINS; n++) {
        if (atomic_load_explicit(count, memory_order_acquire) >= least)
            return;
        RELAX();
    }
    for (const int64_t end = nanoseconds() + PATIENCE; nanoseconds() < end; sched_yield())
        if (atomic_load_explicit(count, memory_order_acquire) >= least)
            return;
    pthread_mutex_lock(&p->asleep);
    atomic_fetch_add(&p->sleepers, 1);
    while (atomic_load(count) < least)
        pthread_cond_wait(&p->reached, &p->asleep);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->asleep);
}

/* After a count that workers wait for is reached; it and `sleepers` change in one order. */
static void wake_waiting(pool *p)
{
    if (!atomic_load(&p->sleepers))
        return;
    pthread_mutex_lock(&p->asleep);
    pthread_cond_broadcast(&p->reached);
    pthread_mutex_unlock(&p->asleep);
}

static void wait_for_job(pool *p, uint32_t seen)
{
    for (;;) {
        for (int n = 0; n < SPINS; n++) {
            if (atomic_load_explicit(&p->job_number, memory_order_acquire) != seen)
                return;
            RELAX();
        }
        pthread_mutex_lock(&p->asleep);
        atomic_fetch_add(&p->idle, 1);
        if (atomic_load(&p->job_number) == seen)
            pthread_cond_wait(&p->wake, &p->asleep);
        atomic_fetch_sub(&p->idle, 1);
        pthread_mutex_unlock(&p->asleep);
    }
}

static void *serve(void *arg)
{
    const thread *own = arg;
    pool *p = own->pool;
    for (uint32_t seen = own->seen;; seen++) {
        wait_for_job(p, seen);
        if (atomic_load(&p->closing))
            return 0;
        const int started = p->started; /* the next job may have more as soon as this is done */
        p->job(p->arg, (worker){p, own->rank, started + 1, p->size, UNSTAGED});
        if (atomic_fetch_add(&p->done, 1) + 1 == (uint64_t)started)
            wake_waiting(p);
    }
}

/* Linux may wake a thread on the caller's own processor, even beside one that is free; both then
 * take turns until the next balancing, milliseconds later. So threads keep off it; every other
 * processor that the caller may use stays allowed. */
static void keep_off_caller(pool *p)
{
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    CPU_CLR(sched_getcpu(), &allowed);
    if (!CPU_COUNT(&allowed) || CPU_EQUAL(&allowed, &p->allowed))
        return;
    for (int i = 0; i < p->started; i++)
        pthread_setaffinity_np(p->threads[i].id, sizeof allowed, &allowed);
    p->allowed = allowed;
#else
    (void)p;
#endif
}

/* Wakes threads for so many jobs: 1, or none, when they spin again. Who is not idle yet finds the
 * job before it sleeps: both words change in one order. */
static void wake_idle(pool *p, int jobs)
{
    atomic_fetch_add(&p->job_number, jobs);
    if (!atomic_load(&p->idle))
        return;
    pthread_mutex_lock(&p->asleep);
    if (!atomic_load(&p->closing)) /* then threads end, whose numbers soon mean nothing */
        keep_off_caller(p);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->asleep);
}

/* Between the process that loaded this and this one, which getpid() would tell more slowly. Who
 * copies a process without fork() has to make pools of its own. */
static unsigned num_forks;
static int watches_forks;
static void count_fork(void) { num_forks++; }
static __attribute__((constructor)) void watch_forks(void)
{
    watches_forks = !pthread_atfork(0, 0, count_fork);
}

/* After a fork the child has none of the threads, and whatever they held. */
static void begin_process(pool *p)
{
    p->process = num_forks;
    p->started = 0;
    p->far = p->known = 0;
    p->idle = 0;
    pthread_mutex_init(&p->asleep, 0);
    pthread_cond_init(&p->wake, 0);
    pthread_cond_init(&p->reached, 0);
    atomic_store(&p->sleepers, 0);
}

static void start_threads(pool *p)
{
    while (p->started < p->size - 1) {
        thread *new = p->threads + p->started;
        new->pool = p;
        new->rank = p->started + 1;
        new->seen = atomic_load(&p->job_number);
        if (pthread_create(&new->id, 0, serve, new))
            return; /* fewer workers compute the same numbers */
        p->started++;
#if defined(__linux__)
        CPU_ZERO(&p->allowed);
#endif
    }
}

static void ask_caches(pool *p)
{
#if defined(_SC_LEVEL3_CACHE_SIZE)
    const int64_t second = sysconf(_SC_LEVEL2_CACHE_SIZE), third = sysconf(_SC_LEVEL3_CACHE_SIZE);
    p->second_level = second > 0 ? second : USUAL_SECOND_LEVEL;
    p->third_level = third > 0 ? third : 0;
#else
    p->second_level = USUAL_SECOND_LEVEL;
#endif
}

pool *pool_create(int threads, int build)
{
    const size_t nbytes = sizeof(pool) + threads * sizeof(thread);
    pool *p = watches_forks ? aligned_alloc(LINE, (nbytes + LINE - 1) / LINE * LINE) : 0;
    if (!p)
        return 0;
    *p = (pool){.size = threads, .build = build};
    ask_caches(p);
    begin_process(p);
    return p;
}

void pool_destroy(pool *p)
{
    if (p && p->process == num_forks) {
        atomic_store(&p->closing, 1);
        wake_idle(p, 1);
        for (int i = 0; i < p->started; i++)
            pthread_join(p->threads[i].id, 0);
        pthread_cond_destroy(&p->wake);
        pthread_cond_destroy(&p->reached);
        pthread_mutex_destroy(&p->asleep);
    }
    free(p);
}

int pool_threads(const pool *p) { return p->size; }
int pool_build(const pool *p) { return p->build; }
int64_t pool_second_level(const pool *p) { return p->second_level; }
int64_t pool_third_level(const pool *p) { return p->third_level; }

/* On all workers, those asleep included. */
static void share_job(pool *p, void (*job)(void *, worker), void *arg)
{
    start_threads(p);
    p->job = job;
    p->arg = arg;
    atomic_store_explicit(&p->done, 0, memory_order_relaxed);
    atomic_store_explicit(&p->came, 0, memory_order_relaxed);
    atomic_store_explicit(&p->met, 0, memory_order_relaxed);
    atomic_store_explicit(&p->steps, 0, memory_order_relaxed);
    if (p->started)
        wake_idle(p, 1);
    job(arg, (worker){p, 0, p->started + 1, p->size, UNSTAGED});
    wait_for(p, &p->done, p->started);
}

static void meet_only(void *arg, worker w)
{
    (void)arg;
    for (int i = 0; i < MEETINGS; i++)
        meet(w);
}

/* Whether workers are far, by the least of some looks: one may wake them, any may be disturbed. */
static void look(pool *p)
{
    int64_t least = INT64_MAX;
    start_threads(p);
    for (int i = 0; i < LOOKS; i++) {
        const int64_t start = nanoseconds();
        share_job(p, meet_only, 0);
        const int64_t took = nanoseconds() - start;
        least = took < least ? took : least;
    }
    p->far = least > MEETINGS * FAR_NANOSECONDS * (p->size - 1);
    p->known = p->far ? JOBS_OF_FAR : JOBS_OF_NEAR;
}

/* Whether threads that are awake take over more of a job than it costs to share it, which is so
 * many times what it is where they are near. */
static int repays(const pool *p, effort e, int times)
{
    const int few = p->size < FEW_WORKERS ? p->size : FEW_WORKERS;
    const int64_t others = e.step * (p->size - 1) / p->size;
    return e.all >= (int64_t)times * WORTH_SHARING * few &&
           (!e.step || others >= (int64_t)times * MEETING * p->size);
}

int repays_sharing(const pool *p, effort e) { return repays(p, e, 1); }

/* Whether threads are to be left alone with such a job. If they sleep, they are woken for the next
 * where jobs that are worth sharing follow each other closely; at once again only if that was not
 * in vain. */
static int is_alone(pool *p, effort e)
{
    if (p->size == 1 || !repays(p, e, 1))
        return 1;
    const int awake = p->started && !p->idle;
    if ((awake || p->far) && p->size <= FEW_WORKERS && !repays(p, e, FAR)) {
        if (p->known > 0)
            p->known--;
        else
            look(p);
        if (p->far)
            return 1;
    }
    if (awake || e.all >= WORTH_WAKING)
        return 0;
    const int64_t then = p->last_alone;
    p->last_alone = nanoseconds();
    p->close = p->last_alone - then < CLOSELY ? p->close + 1 : 0;
    if (p->close == WORTH_A_WAKE) {
        p->close = 0;
        start_threads(p);
        wake_idle(p, 0);
    }
    return 1;
}

void pool_run(pool *p, effort e, void (*job)(void *, worker), void *arg)
{
    if (p->process != num_forks)
        begin_process(p);
    if (is_alone(p, e))
        job(arg, (worker){p, 0, 1, p->size, UNSTAGED});
    else
        share_job(p, job, arg);
}

void tell_steps(worker w, int64_t steps)
{
    atomic_store(&w.pool->steps, steps);
    wake_waiting(w.pool);
}

void await_steps(worker w, int64_t steps) { wait_for(w.pool, &w.pool->steps, steps); }

void yield_processor(void) { sched_yield(); }

void meet(worker w)
{
    pool *p = w.pool;
    if (w.threads == 1)
        return;
    const uint64_t before = atomic_fetch_add(&p->came, 1);
    const uint64_t all = before - before % w.threads + w.threads;
    if (before + 1 < all) {
        wait_for(p, w.threads > FEW_WORKERS ? &p->met : &p->came, all);
        return;
    }
    if (w.threads > FEW_WORKERS)
        atomic_store(&p->met, all);
    wake_waiting(p);
}
