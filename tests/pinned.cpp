/* pinned.cpp: NumPy's data in page-locked memory, which the CPU and a GPU reach at one address.
 *
 * Blocks are powers of two, cut from slabs and kept for the next one; a larger block is a slab of
 * its own, and kept, too, as long as there are not too many: to lock and unlock pages takes far
 * longer than what the reference does with them. Slabs come from the driver, or, where no device
 * was named, from the C library. */
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#define PUBLIC extern "C" __attribute__((visibility("default")))

namespace
{
/* As cuCtxSetCurrent, cuMemHostAlloc and cuMemFreeHost; 0 is success. */
struct Driver {
    int (*set_current)(void *context);
    int (*allocate)(void **address, std::size_t nbytes, unsigned int flags);
    int (*release)(void *address);
    void *context;
};

int no_context(void *) { return 0; }

int plain_allocate(void **address, std::size_t nbytes, unsigned int)
{
    return posix_memalign(address, 4096, nbytes);
}

int plain_release(void *address)
{
    std::free(address);
    return 0;
}

/* The size that a block was cut to stands in front of it. */
constexpr std::size_t HEADER = 64, SLAB = 32 << 20, LARGEST_CUT = 1 << 20;
constexpr std::size_t MOST_KEPT = 1 << 30; /* bytes of slabs that are blocks */
constexpr unsigned int PORTABLE_AND_MAPPED = 1 | 2;

struct Pool {
    std::mutex lock;
    Driver driver = {no_context, plain_allocate, plain_release, nullptr};
    std::map<char *, std::size_t> slabs;
    std::map<std::size_t, std::vector<char *>> unused; /* by size */
    std::size_t kept_nbytes = 0;                       /* of those that are slabs */
    char *rest = nullptr;
    std::size_t rest_nbytes = 0;
};

Pool &pool = *new Pool; /* never destroyed: arrays outlive what is */

char *take_slab(std::size_t nbytes)
{
    void *slab;
    if (pool.driver.set_current(pool.driver.context) ||
        pool.driver.allocate(&slab, nbytes, PORTABLE_AND_MAPPED))
        return nullptr;
    pool.slabs[static_cast<char *>(slab)] = nbytes;
    return static_cast<char *>(slab);
}

void give_back_slab(char *slab)
{
    pool.slabs.erase(slab);
    pool.driver.release(slab);
}

void give_back_kept()
{
    for (auto sizes = pool.unused.upper_bound(LARGEST_CUT); sizes != pool.unused.end(); ++sizes) {
        for (char *slab : sizes->second)
            give_back_slab(slab);
        sizes->second.clear();
    }
    pool.kept_nbytes = 0;
}

char *cut(std::size_t size)
{
    if (pool.rest_nbytes < size) {
        char *slab = take_slab(SLAB);
        if (!slab)
            return nullptr;
        pool.rest = slab;
        pool.rest_nbytes = SLAB;
    }
    char *block = pool.rest;
    pool.rest += size;
    pool.rest_nbytes -= size;
    return block;
}

std::size_t &size_of(void *address)
{
    return *reinterpret_cast<std::size_t *>(static_cast<char *>(address) - HEADER);
}

void *allocate(void *, std::size_t nbytes)
{
    if (nbytes > SIZE_MAX / 4)
        return nullptr;
    std::size_t size = 2 * HEADER;
    while (size < nbytes + HEADER && size < LARGEST_CUT)
        size *= 2;
    const bool is_slab = size < nbytes + HEADER;
    if (is_slab)
        size = nbytes + HEADER;
    std::lock_guard<std::mutex> guard(pool.lock);
    std::vector<char *> &kept = pool.unused[size];
    char *block;
    if (!kept.empty()) {
        block = kept.back();
        kept.pop_back();
        pool.kept_nbytes -= is_slab ? size : 0;
    } else {
        block = is_slab ? take_slab(size) : cut(size);
    }
    if (!block)
        return nullptr;
    size_of(block + HEADER) = size;
    return block + HEADER;
}

void *allocate_zeros(void *context, std::size_t count, std::size_t nbytes)
{
    if (nbytes && count > SIZE_MAX / nbytes)
        return nullptr;
    void *address = allocate(context, count * nbytes);
    return address ? std::memset(address, 0, count * nbytes) : nullptr;
}

void release(void *, void *address, std::size_t)
{
    if (!address)
        return;
    char *block = static_cast<char *>(address) - HEADER;
    std::lock_guard<std::mutex> guard(pool.lock);
    const std::size_t size = size_of(address);
    if (size > LARGEST_CUT) {
        if (pool.kept_nbytes + size > MOST_KEPT)
            give_back_kept();
        if (size > MOST_KEPT)
            return give_back_slab(block);
        pool.kept_nbytes += size;
    }
    pool.unused[size].push_back(block);
}

void *resize(void *context, void *address, std::size_t nbytes)
{
    void *moved = allocate(context, nbytes);
    if (moved && address) {
        std::memcpy(moved, address, std::min(size_of(address) - HEADER, nbytes));
        release(context, address, 0);
    }
    return moved;
}
} // namespace

/* PyDataMem_Handler of NumPy's C API. */
struct Handler {
    char name[127];
    std::uint8_t version;
    void *context;
    void *(*malloc)(void *context, std::size_t nbytes);
    void *(*calloc)(void *context, std::size_t count, std::size_t nbytes);
    void *(*realloc)(void *context, void *address, std::size_t nbytes);
    void (*free)(void *context, void *address, std::size_t nbytes);
};

PUBLIC Handler pinned_handler;
Handler pinned_handler = {"pinned", 1, nullptr, allocate, allocate_zeros, resize, release};

/* Before the first allocation: where slabs come from. */
PUBLIC void pinned_use_driver(void *set_current, void *allocate, void *release, void *context)
{
    pool.driver = {reinterpret_cast<int (*)(void *)>(set_current),
                   reinterpret_cast<int (*)(void **, std::size_t, unsigned int)>(allocate),
                   reinterpret_cast<int (*)(void *)>(release), context};
}

/* Whether all of these bytes lie in one slab. */
PUBLIC int pinned_owns(const char *address, std::size_t nbytes)
{
    std::lock_guard<std::mutex> guard(pool.lock);
    auto after = pool.slabs.upper_bound(const_cast<char *>(address));
    if (after == pool.slabs.begin())
        return 0;
    --after;
    return address + nbytes <= after->first + after->second;
}
