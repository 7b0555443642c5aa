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

/* INVALID_VALUE if there is no such block, LAUNCH_FAILED if bytes around it were written. */
PUBLIC int hostcuda_check(char *start)
{
    std::lock_guard<std::mutex> lock(device);
    const auto block = blocks.find(start);
    if (block == blocks.end())
        return INVALID_VALUE;
    const bool intact = is_guarded(start - GUARD) && is_guarded(start + block->second);
    return intact ? SUCCESS : LAUNCH_FAILED;
}

/* As hostcuda_check; gives the block back if there is one. */
PUBLIC int hostcuda_free(char *start)
{
    const int state = hostcuda_check(start);
    if (state == INVALID_VALUE)
        return state;
    std::lock_guard<std::mutex> lock(device);
    blocks.erase(start);
    std::free(start - GUARD);
    return state;
}
} // namespace hostcuda
