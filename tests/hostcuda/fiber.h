/* fiber.h: a flow of control with a stack of its own. */
#ifndef HOSTCUDA_FIBER_H
#define HOSTCUDA_FIBER_H

#include <cstddef>

#if !defined(__x86_64__) || defined(HOSTCUDA_UCONTEXT)
#include <ucontext.h>
#endif

namespace hostcuda
{
#if defined(__x86_64__) && !defined(HOSTCUDA_UCONTEXT)
typedef void *Context; /* the stack pointer; registers are on the stack */
#else
typedef ucontext_t Context;
#endif

class Fiber
{
  public:
    /* The body must not return. */
    explicit Fiber(void (*body)());
    ~Fiber();
    Fiber(const Fiber &) = delete;
    Fiber &operator=(const Fiber &) = delete;

    /* Run the body, from where it was, until it suspends; from outside of fibers. */
    void resume();

    /* Return to where this fiber was resumed. */
    static void suspend();

  private:
    static void start();

    void (*body)();
    char *memory; /* a page that may not be touched, then the stack */
    Context context;
    void *sanitizer_stack = nullptr, *sanitizer_fiber = nullptr;
};
} // namespace hostcuda

#endif
