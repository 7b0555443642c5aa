/* sanitizers.h: what sanitizers must be told about fibers and about waiting; nothing without them.
 *
 * The runtime itself is never built with -fsanitize=thread: its own memory then means nothing to
 * ThreadSanitizer, and threads of a kernel are ordered by what the kernel does alone. */
#ifndef HOSTCUDA_SANITIZERS_H
#define HOSTCUDA_SANITIZERS_H

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define ASAN(call) call
#else
#define ASAN(call) ((void)0)
#endif

#ifdef HOSTCUDA_THREAD_SANITIZER
extern "C" {
void *__tsan_get_current_fiber();
void *__tsan_create_fiber(unsigned int flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned int flags);
void __tsan_acquire(void *tag);
void __tsan_release(void *tag);
}
#define TSAN(call) call
#else
#define TSAN(call) ((void)0)
#endif

namespace hostcuda
{
#ifdef HOSTCUDA_THREAD_SANITIZER
constexpr bool FINDS_RACES = true;
#else
constexpr bool FINDS_RACES = false;
#endif

/* Whoever passes `acquire` comes after all who have passed `release` with the same tag. */
inline void acquire([[maybe_unused]] char &tag) { TSAN(__tsan_acquire(&tag)); }
inline void release([[maybe_unused]] char &tag) { TSAN(__tsan_release(&tag)); }
} // namespace hostcuda

#endif
