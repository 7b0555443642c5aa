/* gpu_micro_cluster.cu: as gpu_micro_grid.cu, of blocks of a cluster. Behind
 * persistent/cluster_exchange.h, whose accesses these are. */
#define MICRO extern "C" __global__ void __launch_bounds__(THREADS, 1)

MICRO meet(uint32_t steps)
{
    for (uint32_t step = 0; step < steps; step++)
        sync_cluster();
}

/* Each of `parts` blocks pushes `count` words to all, a multiple of 4, and waits for theirs; sums
 * (gridDim.x, THREADS). Shared memory: words (2, parts, count), two barriers. */
MICRO push_around(uint32_t parts, uint32_t count, uint32_t steps, uint32_t *sums, uint32_t *fault,
                  uint32_t poll_limit)
{
    DYNAMIC_SHARED(memory);
    waits wait = {fault, poll_limit, 0};
    uint32_t *words = (uint32_t *)memory, sum = 0;
    uint64_t *barriers = (uint64_t *)(words + 2 * parts * count);
    if (threadIdx.x < 2)
        initialize_barrier(barriers + threadIdx.x);
    sync_cluster();
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t *slot = words + step % 2 * parts * count, polls = 0;
        uint64_t *barrier = barriers + step % 2;
        const uint32_t pushed[] = {step, step, step, step};
        for (uint32_t i = threadIdx.x; i < count / 4 * parts; i += THREADS)
            push_words(slot + blockIdx.x % parts * count + i / parts * 4, pushed, barrier,
                       i % parts);
        if (threadIdx.x == 0)
            expect_bytes(barrier, parts * count * 4);
        while (!is_phase_over(barrier, step / 2 % 2) && goes_on(&wait, &polls)) {
        }
        for (uint32_t i = threadIdx.x * 4; i < parts * count; i += THREADS * 4) {
            uint32_t got[4];
            load_words(got, slot + i);
            sum += got[0] + got[1] + got[2] + got[3];
        }
        __syncthreads();
    }
    sums[blockIdx.x * THREADS + threadIdx.x] = sum;
    sync_cluster();
}
