/* waits.h: how a thread waits for other blocks, but not forever: a wait ends after poll_limit
 * polls. The thread then notes a fault, waits no more, and goes on with what is there. Results are
 * not to be used: a clip makes numbers of NaN. */
#ifndef MIOPY_WAITS_H
#define MIOPY_WAITS_H

#include "block.h"

/* With a thread's own `failed`. */
typedef struct {
    uint32_t *fault; /* becomes 1 */
    uint32_t poll_limit;
    int failed;
} waits;

#ifdef __CUDA_ARCH__
INLINE void store_relaxed(uint32_t *to, uint32_t value)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value));
}

/* To a word that the host reads meanwhile. */
INLINE void store_for_host(uint32_t *to, uint32_t value)
{
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value));
}
#endif

/* Whether to poll again, after so many polls. */
INLINE int goes_on(waits *w, uint32_t *polls)
{
    if (w->failed)
        return 0;
    if (++*polls < w->poll_limit)
        return 1;
    w->failed = 1;
    store_for_host(w->fault, 1u);
    return 0;
}

#endif
