/* interface.h: what kernels built for the emulator and its runtime know of each other. Includes
 * nothing: kernels bring their own integer types, as for NVRTC, and <stdint.h> has others. */
#ifndef HOSTCUDA_INTERFACE_H
#define HOSTCUDA_INTERFACE_H

struct dim3 {
    unsigned int x, y, z;
};

namespace hostcuda
{
/* A CUDA thread as its kernel sees it. */
struct Thread {
    dim3 thread, block, block_size, grid_size;
};

/* A function that can be launched; its address is what stands for a CUfunction.
 *
 * call          runs one thread, on arguments as cuLaunchKernel takes them
 * sizes         bytes of each argument
 */
struct Kernel {
    const char *name;
    void (*call)(void **arguments);
    int num_arguments;
    const unsigned int *sizes;
};

/* The thread that runs. Launches run one at a time, so there is one. */
extern Thread *current;
} // namespace hostcuda

#endif
