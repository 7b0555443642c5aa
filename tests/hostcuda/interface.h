/* interface.h: what kernels built for the emulator and its runtime know of each other. Includes
 * nothing: kernels bring their own integer types, as for NVRTC, and <stdint.h> has others. */
#ifndef HOSTCUDA_INTERFACE_H
#define HOSTCUDA_INTERFACE_H

struct dim3 {
    unsigned int x, y, z;
};

namespace hostcuda
{
/* A CUDA thread as its kernel sees it.
 *
 * lane     its position in its warp
 * shared   dynamic shared memory of its block; NULL without fibers
 */
struct Thread {
    dim3 thread, block, block_size, grid_size;
    unsigned int lane;
    unsigned char *shared;
};

/* A function that can be launched; its address is what stands for a CUfunction.
 *
 * call           runs one thread, on arguments as cuLaunchKernel takes them
 * sizes          bytes of each argument
 * needs_fibers   whether threads may wait for each other
 */
struct Kernel {
    const char *name;
    void (*call)(void **arguments);
    int num_arguments;
    const unsigned int *sizes;
    bool needs_fibers;
};

/* The thread that runs. Launches run one at a time, so there is one. */
extern Thread *current;

/* A call and where it is in the kernel's source; made by naming the call. */
struct Place {
    const char *call, *file;
    int line;

    Place(const char *call, const char *file = __builtin_FILE(), int line = __builtin_LINE())
        : call(call), file(file), line(line)
    {
    }
};

constexpr int WARP = 32;

/* Wait for all threads of the block, the grid or the cluster, or for the lanes in a mask. */
void sync_block(Place place);
void sync_grid(Place place);
void sync_cluster(Place place);
void sync_warp(unsigned int mask, Place place);

/* The values that the lanes in a mask bring, by lane, until the next exchange. As on a device, this
 * orders no other memory. */
const unsigned long *exchange(unsigned int mask, unsigned long value, Place place);

/* Let the other threads run: in every loop that waits for one of them. */
void yield(Place place);

/* Barriers in shared memory that count bytes, see clusters.cpp. */
typedef unsigned long long ByteBarrier;
void initialize_barrier(ByteBarrier *barrier);
void expect_bytes(ByteBarrier *barrier, unsigned int nbytes, Place place);
void complete_bytes(ByteBarrier *barrier, unsigned int nbytes, Place place);
bool is_phase_over(ByteBarrier *barrier, unsigned int parity, Place place);

/* Where another block of the cluster has what this one has at an address. */
void *address_in_block(void *address, unsigned int block, Place place);

/* Store four words there, and count them at the barrier there, some time later. */
void defer_push(unsigned int *to, const unsigned int *words, ByteBarrier *barrier,
                unsigned int block, Place place);

/* 16 bytes that are copied later, in groups. */
struct Copy {
    void *to;
    const void *from;
};
void defer_copy(Copy copy);
void close_copies();
/* The next copy of a closed group, unless there are only `groups` such groups. */
bool next_copy(unsigned int groups, Copy *copy);
} // namespace hostcuda

#endif
