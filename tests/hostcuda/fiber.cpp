/* fiber.cpp: changing stacks, and telling sanitizers of it. */
#include "fiber.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "sanitizers.h"

namespace hostcuda
{
#if defined(__SANITIZE_ADDRESS__) || defined(HOSTCUDA_THREAD_SANITIZER)
static const std::size_t STACK = 256 * 1024; /* their reports are made on it */
#else
static const std::size_t STACK = 64 * 1024;
#endif
static const std::size_t FENCE = 4096;
static const unsigned int NO_ORDER = 1; /* a change of fibers orders no memory */

/* Where fibers return to: the stack of the thread that launches. */
static struct {
    Context context;
    const void *bottom;
    std::size_t nbytes;
    void *sanitizer_stack, *sanitizer_fiber;
} outside;
static Fiber *running;

#if defined(__x86_64__) && !defined(HOSTCUDA_UCONTEXT)
/* What a function must keep is pushed, the stack changed, and the same popped from the other. A
 * library function does this with two system calls, several times as slowly. */
extern "C" void hostcuda_change(Context *from, Context to);
asm(R"(
.text
.globl hostcuda_change
.type hostcuda_change, @function
hostcuda_change:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size hostcuda_change, .-hostcuda_change
)");

static void change(Context &from, Context &to) { hostcuda_change(&from, to); }

static void prepare(Context &context, char *stack, void (*start)())
{
    void **top = reinterpret_cast<void **>(stack + STACK);
    *--top = nullptr; /* stacks are aligned to 16 bytes where a function is called */
    *--top = reinterpret_cast<void *>(start);
    for (int saved = 0; saved < 6; saved++)
        *--top = nullptr;
    context = top;
}
#else
static void change(Context &from, Context &to) { swapcontext(&from, &to); }

static void prepare(Context &context, char *stack, void (*start)())
{
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, start, 0);
}
#endif

Fiber::Fiber(void (*body)()) : body(body)
{
    void *pages = mmap(nullptr, FENCE + STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages, FENCE, PROT_NONE))
        throw std::bad_alloc();
    memory = static_cast<char *>(pages);
    prepare(context, memory + FENCE, start);
    TSAN(sanitizer_fiber = __tsan_create_fiber(0));
}

Fiber::~Fiber()
{
    TSAN(__tsan_destroy_fiber(sanitizer_fiber));
    ASAN(__asan_unpoison_memory_region(memory + FENCE, STACK)); /* a body may be in the midst */
    munmap(memory, FENCE + STACK);
}

void Fiber::resume()
{
    running = this;
    ASAN(__sanitizer_start_switch_fiber(&outside.sanitizer_stack, memory + FENCE, STACK));
    TSAN(outside.sanitizer_fiber = __tsan_get_current_fiber());
    TSAN(__tsan_switch_to_fiber(sanitizer_fiber, NO_ORDER));
    change(outside.context, context);
    ASAN(__sanitizer_finish_switch_fiber(outside.sanitizer_stack, nullptr, nullptr));
}

void Fiber::suspend()
{
    Fiber &fiber = *running;
    ASAN(__sanitizer_start_switch_fiber(&fiber.sanitizer_stack, outside.bottom, outside.nbytes));
    TSAN(__tsan_switch_to_fiber(outside.sanitizer_fiber, NO_ORDER));
    change(fiber.context, outside.context);
    ASAN(__sanitizer_finish_switch_fiber(fiber.sanitizer_stack, &outside.bottom, &outside.nbytes));
}

void Fiber::start()
{
    ASAN(__sanitizer_finish_switch_fiber(nullptr, &outside.bottom, &outside.nbytes));
    running->body();
    std::abort();
}
} // namespace hostcuda
