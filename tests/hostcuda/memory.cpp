/* memory.cpp: blocks of device memory that notice who writes beside them. */
#include <cstdlib>
#include <cstring>
#include <map>

#include "runtime.h"

namespace hostcuda
{
static const std::size_t ALIGNMENT = 256; /* cudaMalloc's */
#ifdef __SANITIZE_ADDRESS__
static const std::size_t GUARD = 0; /* the sanitizer watches the neighbours itself */
#else
static const std::size_t GUARD = 4096;
#endif
static const int UNWRITTEN = 0xff, GUARDED = 0xa5; /* all ones are NaN in every type */

static std::map<char *, std::size_t> blocks;
static std::size_t freed_damaged;

/* NULL if there is not so much. */
PUBLIC char *hostcuda_allocate(std::size_t nbytes)
{
    void *whole;
    if (nbytes > PTRDIFF_MAX || posix_memalign(&whole, ALIGNMENT, GUARD + nbytes + GUARD))
        return nullptr;
    char *start = static_cast<char *>(whole) + GUARD;
    std::memset(start - GUARD, GUARDED, GUARD);
    std::memset(start, UNWRITTEN, nbytes);
    std::memset(start + nbytes, GUARDED, GUARD);
    std::lock_guard<std::mutex> lock(device);
    blocks.emplace(start, nbytes);
    return start;
}

static bool is_guarded(const char *zone)
{
    for (std::size_t n = 0; n < GUARD; n++)
        if (static_cast<unsigned char>(zone[n]) != GUARDED)
            return false;
    return true;
}

static bool is_damaged(const char *start, std::size_t nbytes)
{
    return !is_guarded(start - GUARD) || !is_guarded(start + nbytes);
}

/* INVALID_VALUE if there is no such block. */
PUBLIC int hostcuda_free(char *start)
{
    std::lock_guard<std::mutex> lock(device);
    const auto block = blocks.find(start);
    if (block == blocks.end())
        return INVALID_VALUE;
    freed_damaged += is_damaged(start, block->second);
    blocks.erase(block);
    std::free(start - GUARD);
    return SUCCESS;
}

/* How many blocks have neighbouring bytes that were written: of those that are in use, and of those
 * freed since this was asked last. */
PUBLIC std::size_t hostcuda_count_damaged()
{
    std::lock_guard<std::mutex> lock(device);
    std::size_t damaged = freed_damaged;
    freed_damaged = 0;
    for (const auto &[start, nbytes] : blocks)
        damaged += is_damaged(start, nbytes);
    return damaged;
}
} // namespace hostcuda
