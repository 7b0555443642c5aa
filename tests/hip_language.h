/* hip_language.h: HIP's language for plain clang, as far as the kernels use it, put in front of a
 * kernel source. hiprtc knows all of this without an include.
 *
 * For compiling alone: the functions stand in for AMD's, which are not there to be linked, and need
 * about as much of a GPU, but are not exact. */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __forceinline__ inline __attribute__((always_inline))
#define FIRST_OF(threads, ...) threads
#define __launch_bounds__(...) \
    __attribute__((amdgpu_flat_work_group_size(1, FIRST_OF(__VA_ARGS__, 0))))

#define __align__(nbytes) __attribute__((aligned(nbytes)))
#define __shared__ __attribute__((shared))

struct grid_index {
    unsigned int x, y;
};
#define threadIdx (grid_index{__builtin_amdgcn_workitem_id_x(), 0})
#define blockIdx (grid_index{__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y()})
#define blockDim (grid_index{__builtin_amdgcn_workgroup_size_x()})
#define gridDim (grid_index{__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()})

#define memcpy __builtin_memcpy
#define STAND_IN static __device__ __forceinline__ __attribute__((unused))
STAND_IN float expf(float x) { return __builtin_amdgcn_exp2f(1.442695f * x); }
STAND_IN float exp2f(float x) { return __builtin_amdgcn_exp2f(x); }
STAND_IN float fabsf(float x) { return __builtin_fabsf(x); }
STAND_IN float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
STAND_IN float tanhf(float x) { return 1 - 2 / (expf(x + x) + 1); }
STAND_IN float rintf(float x) { return __builtin_rintf(x); }
STAND_IN double exp(double x) { return expf((float)x); }
STAND_IN double tanh(double x) { return 1 - 2 / (exp(x + x) + 1); }
STAND_IN void __syncthreads(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
STAND_IN float __shfl_xor(float x, int bits)
{
    const int lane = __builtin_amdgcn_workitem_id_x(), from = (lane ^ bits) << 2;
    return __builtin_bit_cast(float,
                              __builtin_amdgcn_ds_bpermute(from, __builtin_bit_cast(int, x)));
}
