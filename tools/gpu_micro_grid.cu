/* gpu_micro_grid.cu: what blocks that all run at a time take for a step, without a recurrence. Each
 * kernel takes `steps` of them; what it leaves says whether it did so. Behind
 * persistent/exchange.h, whose accesses these are. */
#define MICRO extern "C" __global__ void __launch_bounds__(THREADS, 1)

/* Blocks wait for each other, by one counter. */
MICRO count_together(uint32_t *counter, uint32_t steps, uint32_t *fault, uint32_t poll_limit)
{
    waits wait = {fault, poll_limit, 0};
    for (uint32_t step = 1; step <= steps; step++) {
        uint32_t polls = 0;
        __syncthreads();
        if (threadIdx.x == 0) {
            add_release(counter, 1u);
            while (load_acquire(counter) < step * gridDim.x && goes_on(&wait, &polls)) {
            }
        }
        __syncthreads();
    }
}

/* The same by a counter for each block, 8 words apart, of which a thread watches one or more. */
MICRO watch_each_other(uint32_t *counters, uint32_t steps, uint32_t *fault, uint32_t poll_limit)
{
    waits wait = {fault, poll_limit, 0};
    for (uint32_t step = 1; step <= steps; step++) {
        __syncthreads();
        if (threadIdx.x == 0)
            add_release(counters + blockIdx.x * 8, 1u);
        for (uint32_t block = threadIdx.x; block < gridDim.x; block += THREADS) {
            uint32_t polls = 0;
            while (load_acquire(counters + block * 8) < step && goes_on(&wait, &polls)) {
            }
        }
        __syncthreads();
    }
}

/* words (steps + 1, count): all blocks take all words of a row as soon as they are there, and each
 * publishes its share of the next row, words of its step. sums (gridDim.x, THREADS). */
MICRO hand_on_words(uint32_t *words, uint32_t count, uint32_t steps, uint32_t *sums,
                    uint32_t *fault, uint32_t poll_limit)
{
    exchange x = {0, 0, 0, 0, 0, {fault, poll_limit, 0}};
    const uint32_t own = count / gridDim.x;
    uint32_t sum = 0;
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t *row = words + (int64_t)step * count, *next = row + count + blockIdx.x * own;
        for (uint32_t i = threadIdx.x * 4; i < count; i += THREADS * 4) {
            uint32_t got[4];
            load_relaxed_words(got, row + i);
            await_words(&x, got, row + i);
            sum += got[0] + got[1] + got[2] + got[3];
        }
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < own; i += THREADS)
            publish(next + i, step + 1);
    }
    sums[blockIdx.x * THREADS + threadIdx.x] = sum;
}

/* All blocks read all words, and wait for nobody. */
MICRO read_words(uint32_t *words, uint32_t count, uint32_t steps, uint32_t *sums)
{
    uint32_t sum = 0;
    for (uint32_t step = 0; step < steps; step++) {
        for (uint32_t i = threadIdx.x * 4; i < count; i += THREADS * 4) {
            uint32_t got[4];
            load_relaxed_words(got, words + i);
            sum += got[0] + got[1] + got[2] + got[3];
        }
        __syncthreads();
    }
    sums[blockIdx.x * THREADS + threadIdx.x] = sum;
}

/* Products of ones, added to CHAINS sums of each warp in turn; sums (gridDim.x, THREADS). */
MICRO multiply_ones(float *sums, uint32_t steps)
{
    const uint32_t one = 0x3f803f80, a[] = {one, one, one, one}; /* two of bfloat16 */
    float sum[CHAINS][4], total = 0;
#pragma unroll
    for (int chain = 0; chain < CHAINS; chain++)
        for (int i = 0; i < 4; i++)
            sum[chain][i] = chain; /* or they would all be one */
    for (uint32_t step = 0; step < steps; step++)
#pragma unroll
        for (int chain = 0; chain < CHAINS; chain++)
            multiply_matrices(sum[chain], a, one, one);
#pragma unroll
    for (int chain = 0; chain < CHAINS; chain++)
        total += sum[chain][0] + sum[chain][3];
    sums[blockIdx.x * THREADS + threadIdx.x] = total;
}
