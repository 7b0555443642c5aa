/* faults.cu: kernels with planted faults. FAULTY 1 has them, FAULTY 0 is the same done right.
 *
 * The grid is one block of n threads, one warp, or two where it says so; x holds n floats, y as many
 * for each block; *counter is 0. */
#define FAULT(name) \
    extern "C" __global__ void name(float *y, const float *x, int n, unsigned int *counter)

/* y[i] = x[n - 1 - i] through shared memory, n threads. */
FAULT(missing_barrier)
{
    DYNAMIC_SHARED(memory);
    float *tile = (float *)memory;
    tile[threadIdx.x] = x[threadIdx.x];
    if (!FAULTY)
        __syncthreads();
    y[threadIdx.x] = tile[n - 1 - threadIdx.x];
}

/* y[i] = the sum of x, going round: shared memory is written anew while others still read. */
FAULT(early_overwrite)
{
    DYNAMIC_SHARED(memory);
    float *tile = (float *)memory, sum = 0, passed = x[threadIdx.x];
    for (int step = 0; step < n; step++) {
        tile[threadIdx.x] = passed;
        __syncthreads();
        passed = tile[(threadIdx.x + 1) % n];
        sum += passed;
        if (!FAULTY)
            __syncthreads();
    }
    y[threadIdx.x] = sum;
}

FAULT(past_shared_memory)
{
    DYNAMIC_SHARED(memory);
    float *tile = (float *)memory;
    tile[threadIdx.x + FAULTY] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];
}

FAULT(past_device_memory)
{
    y[threadIdx.x + FAULTY] = x[threadIdx.x];
}

FAULT(misaligned_access)
{
    const char *from = (const char *)x + 2 * FAULTY;
    y[threadIdx.x] = ((const float *)from)[threadIdx.x / 2];
}

/* An index of 32 bits where the array needs more. */
FAULT(overflowing_index)
{
    const int stride = FAULTY ? 1 << 30 : 1;
    const int at = (int)threadIdx.x * stride;
    if (at >= 0 && at < n)
        y[at] = x[at];
}

/* y[i] = x[i] + x[i + 1]; the fault takes the neighbour from where it is overwritten. */
FAULT(racing_neighbours)
{
    const int i = threadIdx.x;
    y[i] = x[i];
    if (i + 1 < n)
        y[i] += FAULTY ? y[i + 1] : x[i + 1];
}

/* Of two blocks, the first gives y to the second, which waits for a counter and passes it on. */
FAULT(relaxed_counter)
{
    if (blockIdx.x == 0) {
        y[threadIdx.x] = x[threadIdx.x];
        if (FAULTY)
            add_relaxed(counter, 1u);
        else
            add_release(counter, 1u);
    } else {
        while (load_acquire(counter) < (unsigned int)n) {
        }
        y[n + threadIdx.x] = y[threadIdx.x];
    }
}

/* Half of the block skips a barrier. */
FAULT(skipped_barrier)
{
    if (!FAULTY || threadIdx.x < n / 2)
        __syncthreads();
    y[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
}

FAULT(returned_early)
{
    y[threadIdx.x] = x[threadIdx.x];
    if (FAULTY && threadIdx.x == 0)
        return;
    __syncthreads();
}

/* A word that nobody will write. */
FAULT(endless_spin)
{
    if (threadIdx.x == 0)
        add_release(counter, FAULTY ? 0u : 1u);
    while (!load_acquire(counter)) {
    }
    y[threadIdx.x] = x[threadIdx.x];
}

/* A lane that calls is not in its mask. */
FAULT(wrong_mask)
{
    y[threadIdx.x] = __shfl_sync(FAULTY ? 1u : ~0u, x[threadIdx.x], threadIdx.x);
}

/* What is read before it has arrived; x and y aligned to 16 bytes. */
FAULT(copy_not_awaited)
{
    DYNAMIC_SHARED(memory);
    float *tile = (float *)memory;
    if (threadIdx.x % 4 == 0)
        copy_async(tile + threadIdx.x, x + threadIdx.x);
    commit_copies();
    if (!FAULTY)
        wait_for_copies<0>();
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];
}
