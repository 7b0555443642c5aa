/* synchronize.h: how the threads of a kernel wait for each other and pass on values.
 *
 * Kernels whose source names a function with a `place` below, or DYNAMIC_SHARED, run on fibers.
 * What CUDA itself has no function for is an instruction of PTX, named here as in the kernels.
 * There is no __threadfence(): ThreadSanitizer knows no fences, a counter has to say what it
 * orders. */
#include "interface.h"

/* The block's dynamic shared memory, named in a kernel: unsigned char *name. */
#define DYNAMIC_SHARED(name) unsigned char *name = hostcuda::current->shared

inline void __syncthreads(hostcuda::Place place = "__syncthreads") { hostcuda::sync_block(place); }

inline void sync_grid(hostcuda::Place place = "sync_grid") { hostcuda::sync_grid(place); }

inline void sync_cluster(hostcuda::Place place = "sync_cluster") { hostcuda::sync_cluster(place); }

inline void __syncwarp(unsigned int mask = ~0u, hostcuda::Place place = "__syncwarp")
{
    hostcuda::sync_warp(mask, place);
}

namespace hostcuda
{
/* The value of lane `source`; of another warp's lane, the own one. */
template <typename Type>
Type shuffle(unsigned int mask, Type value, unsigned int source, Place place)
{
    static_assert(sizeof(Type) <= sizeof(unsigned long), "values are of up to 8 bytes");
    unsigned long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(Type));
    const unsigned long *all = exchange(mask, bits, place);
    __builtin_memcpy(&value, all + (source < WARP ? source : current->lane), sizeof(Type));
    return value;
}
} // namespace hostcuda

template <typename Type>
Type __shfl_sync(unsigned int mask, Type value, int lane, hostcuda::Place place = "__shfl_sync")
{
    return hostcuda::shuffle(mask, value, lane % hostcuda::WARP, place);
}

template <typename Type>
Type __shfl_xor_sync(unsigned int mask, Type value, int bits,
                     hostcuda::Place place = "__shfl_xor_sync")
{
    return hostcuda::shuffle(mask, value, hostcuda::current->lane ^ bits, place);
}

template <typename Type>
Type __shfl_down_sync(unsigned int mask, Type value, unsigned int distance,
                      hostcuda::Place place = "__shfl_down_sync")
{
    return hostcuda::shuffle(mask, value, hostcuda::current->lane + distance, place);
}

inline unsigned int __ballot_sync(unsigned int mask, int predicate,
                                  hostcuda::Place place = "__ballot_sync")
{
    const unsigned long *all = hostcuda::exchange(mask, predicate != 0, place);
    unsigned int ballot = 0;
    for (int lane = 0; lane < hostcuda::WARP; lane++)
        if (mask >> lane & 1)
            ballot |= static_cast<unsigned int>(all[lane]) << lane;
    return ballot;
}

/* Loads that a thread may spin on. */
template <typename Type> Type load_acquire(const Type *from, hostcuda::Place place = "load_acquire")
{
    const Type value = __atomic_load_n(from, __ATOMIC_ACQUIRE);
    hostcuda::yield(place);
    return value;
}

template <typename Type> Type load_relaxed(const Type *from, hostcuda::Place place = "load_relaxed")
{
    const Type value = __atomic_load_n(from, __ATOMIC_RELAXED);
    hostcuda::yield(place);
    return value;
}

/* Four words that are loaded together but arrive one by one: here, some of them later. */
inline void load_relaxed_words(unsigned int *to, const unsigned int *from,
                               hostcuda::Place place = "load_relaxed_words")
{
    for (int i = 0; i < 4; i++) {
        to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
        if (i == 1)
            hostcuda::yield(place);
    }
}

template <typename Type> void store_relaxed(Type *to, Type value)
{
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

template <typename Type> void store_for_host(Type *to, Type value) { store_relaxed(to, value); }

template <typename Type> void add_release(Type *to, Type value)
{
    __atomic_fetch_add(to, value, __ATOMIC_RELEASE);
}

template <typename Type> void add_relaxed(Type *to, Type value)
{
    __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}

template <typename Type> Type atomicAdd(Type *to, Type value)
{
    return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}

inline float atomicAdd(float *to, float value)
{
    float old, sum;
    __atomic_load(to, &old, __ATOMIC_RELAXED);
    do
        sum = old + value;
    while (!__atomic_compare_exchange(to, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

inline unsigned int atomicCAS(unsigned int *to, unsigned int expected, unsigned int value)
{
    __atomic_compare_exchange_n(to, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

/* cp.async of 16 bytes. They arrive when they are waited for; until then there is nonsense. */
inline void copy_async(void *to, const void *from)
{
    __builtin_memset(to, 0xff, 16);
    hostcuda::defer_copy({to, from});
}

inline void commit_copies() { hostcuda::close_copies(); }

/* Until at most `groups` committed groups are under way. */
template <unsigned int groups> void wait_for_copies()
{
    hostcuda::Copy copy;
    while (hostcuda::next_copy(groups, &copy))
        __builtin_memcpy(copy.to, copy.from, 16);
}

inline void initialize_barrier(unsigned long long *barrier)
{
    hostcuda::initialize_barrier(barrier);
}

inline void expect_bytes(unsigned long long *barrier, unsigned int nbytes,
                         hostcuda::Place place = "expect_bytes")
{
    hostcuda::expect_bytes(barrier, nbytes, place);
}

inline int is_phase_over(unsigned long long *barrier, unsigned int parity,
                         hostcuda::Place place = "is_phase_over")
{
    return hostcuda::is_phase_over(barrier, parity, place);
}

/* st.async of 16 bytes. They arrive in any order, but for ThreadSanitizer, which has to see who
 * writes them: at once. */
inline void push_words(unsigned int *to, const unsigned int *words, unsigned long long *barrier,
                       unsigned int block, hostcuda::Place place = "push_words")
{
#ifdef __SANITIZE_THREAD__
    auto *there = static_cast<unsigned int *>(hostcuda::address_in_block(to, block, place));
    for (int i = 0; i < 4; i++)
        there[i] = words[i];
    void *counter = hostcuda::address_in_block(barrier, block, place);
    hostcuda::complete_bytes(static_cast<unsigned long long *>(counter), 16, place);
#else
    hostcuda::defer_push(to, words, barrier, block, place);
#endif
}

namespace hostcuda
{
/* What a word of a matrix holds: two numbers, or one. */
inline float number_of_f16(unsigned int word, int which)
{
    const unsigned short half = word >> 16 * which;
    _Float16 value;
    __builtin_memcpy(&value, &half, 2);
    return value;
}

inline float number_of_bits(unsigned int bits)
{
    float value;
    __builtin_memcpy(&value, &bits, 4);
    return value;
}

inline float number_of_bf16(unsigned int word, int which)
{
    return number_of_bits(which ? word & 0xffff0000 : word << 16);
}

/* Of a float, the instruction takes the upper 19 bits. */
inline float number_of_tf32(unsigned int word, int) { return number_of_bits(word & 0xffffe000); }

/* mma.sync.m16n8k16 of 16-bit numbers or m16n8k8 of TF32, as PTX deals their matrices out to the
 * lanes of a warp: each lane brings two words of a's rows lane / 4 and 8 more, and of b's column
 * lane / 4. */
inline void multiply_matrices(float *c, const unsigned int *a, unsigned int b_low,
                              unsigned int b_high, int in_a_word,
                              float (*number)(unsigned int, int), Place place)
{
    const unsigned int lane = current->lane;
    const unsigned int own[] = {a[0], a[1], a[2], a[3], b_low, b_high};
    unsigned int all[6][WARP];
    for (int word = 0; word < 6; word += 2) {
        const unsigned long pair = own[word] | static_cast<unsigned long>(own[word + 1]) << 32;
        const unsigned long *pairs = exchange(~0u, pair, place);
        for (int other = 0; other < WARP; other++) {
            all[word][other] = pairs[other];
            all[word + 1][other] = pairs[other] >> 32;
        }
    }
    for (int i = 0; i < 4; i++) {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (int word = 0; word < 8; word++) {
            const unsigned int left = all[row / 8 + word / 4 * 2][row % 8 * 4 + word % 4];
            const unsigned int right = all[4 + word / 4][column * 4 + word % 4];
            for (int which = 0; which < in_a_word; which++)
                c[i] += number(left, which) * number(right, which);
        }
    }
}
} // namespace hostcuda

/* For kernels that know the type of storage, as a number of target.h. */
#define multiply_matrices(c, a, b_low, b_high)                               \
    hostcuda::multiply_matrices(c, a, b_low, b_high, STORAGE == F32 ? 1 : 2, \
                                STORAGE == F32   ? hostcuda::number_of_tf32  \
                                : STORAGE == F16 ? hostcuda::number_of_f16   \
                                                 : hostcuda::number_of_bf16, \
                                "multiply_matrices")

/* cvt.rna.tf32.f32. */
inline unsigned int tf32_of_f32(float value)
{
    unsigned int bits;
    __builtin_memcpy(&bits, &value, 4);
    if (value != value)
        return 0x7fffffff;
    return (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0x1000) & 0xffffe000;
}
