/* Live pointers: a hash table of chains behind one lock. */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "registry.h"

enum { CHAINS = 4096 };

struct record {
    struct record *next;
    const void *pointer;
    enum kind kind;
    size_t nbytes;
};

static struct record *chains[CHAINS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take_lock(void) { pthread_mutex_lock(&lock); }

static void give_lock(void) { pthread_mutex_unlock(&lock); }

/* A child of fork() must not inherit the lock from a thread that it does not have. */
__attribute__((constructor)) static void survive_fork(void)
{
    pthread_atfork(take_lock, give_lock, give_lock);
}

static struct record **chain_of(const void *pointer)
{
    uint64_t mixed = ((uintptr_t)pointer >> 4) * UINT64_C(0x9E3779B97F4A7C15);
    return &chains[(mixed >> 32) % CHAINS];
}

/* The link that leads to the record, or to NULL. To be called with the lock held. */
static struct record **link_to(const void *pointer, enum kind kind)
{
    struct record **link = chain_of(pointer);
    while (*link && ((*link)->pointer != pointer || (*link)->kind != kind))
        link = &(*link)->next;
    return link;
}

bool registry_add(const void *pointer, enum kind kind, size_t nbytes)
{
    struct record *record = malloc(sizeof *record);
    if (!record)
        return false;
    take_lock();
    struct record **chain = chain_of(pointer);
    *record = (struct record){*chain, pointer, kind, nbytes};
    *chain = record;
    give_lock();
    return true;
}

bool registry_find(const void *pointer, enum kind kind, size_t *nbytes)
{
    take_lock();
    const struct record *record = *link_to(pointer, kind);
    if (record && nbytes)
        *nbytes = record->nbytes;
    give_lock();
    return record;
}

bool registry_remove(const void *pointer, enum kind kind)
{
    take_lock();
    struct record **link = link_to(pointer, kind);
    struct record *record = *link;
    if (record)
        *link = record->next;
    give_lock();
    free(record);
    return record;
}
