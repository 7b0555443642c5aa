/* kernel.h: CUDA's language for a C++ compiler of the host, put in front of a kernel source.
 *
 * It stands in for what NVRTC knows without an include, and includes nothing that would declare
 * more. `__shared__` is missing on purpose: a static variable would be one for all blocks. */
#include "synchronize.h"

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(nbytes) __attribute__((aligned(nbytes)))

#define threadIdx (hostcuda::current->thread)
#define blockIdx (hostcuda::current->block)
#define blockDim (hostcuda::current->block_size)
#define gridDim (hostcuda::current->grid_size)

typedef decltype(sizeof 0) size_t;

/* What device compilers declare. */
extern "C" {
void *memcpy(void *to, const void *from, size_t nbytes) noexcept;
float expf(float x) noexcept;
double exp(double x) noexcept;
float tanhf(float x) noexcept;
float exp2f(float x) noexcept;
float fabsf(float x) noexcept;
float copysignf(float size, float sign) noexcept;
double tanh(double x) noexcept;
float rintf(float x) noexcept;
}

/* In two roundings: sources are compiled without multiply-add. */
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fadd_rn(float a, float b) { return a + b; }

namespace hostcuda
{
constexpr unsigned long MAX_ARGUMENT_BYTES = 4096; /* of a launch, on all devices */

template <auto function, typename Type> struct Call;

template <auto function, typename... Parameters> struct Call<function, void (*)(Parameters...)> {
    static_assert((sizeof(Parameters) + ... + 0) <= MAX_ARGUMENT_BYTES, "too many arguments");
    static constexpr unsigned int sizes[] = {sizeof(Parameters)..., 0};

    template <int... position> struct Positions {
        static void call(void **arguments)
        {
            function(*static_cast<Parameters *>(arguments[position])...);
        }
    };

    static constexpr Kernel describe(const char *name, bool needs_fibers)
    {
        return {name, Positions<__integer_pack(sizeof...(Parameters))...>::call,
                sizeof...(Parameters), sizes, needs_fibers};
    }
};
} // namespace hostcuda

/* Written behind a source for each of its kernels, for the emulator to find. */
#define HOSTCUDA_EXPORT(function, needs_fibers)            \
    extern "C" const hostcuda::Kernel hostcuda_##function; \
    const hostcuda::Kernel hostcuda_##function =           \
        hostcuda::Call<function, decltype(&function)>::describe(#function, needs_fibers);
