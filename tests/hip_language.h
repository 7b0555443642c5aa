/* hip_language.h: HIP's language for plain clang, as far as the kernels use it, put in front of a
 * kernel source. hiprtc knows all of this without an include.
 *
 * For compiling alone: the functions stand in for AMD's, which are not there to be linked, and need
 * about as much of a GPU, but are not exact. */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

struct grid_index {
    unsigned int x;
};
#define threadIdx (grid_index{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (grid_index{__builtin_amdgcn_workgroup_id_x()})
#define blockDim (grid_index{__builtin_amdgcn_workgroup_size_x()})
#define gridDim (grid_index{__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()})

#define memcpy __builtin_memcpy
#define STAND_IN static __device__ __forceinline__ __attribute__((unused))
STAND_IN float expf(float x) { return __builtin_amdgcn_exp2f(1.442695f * x); }
STAND_IN float tanhf(float x) { return 1 - 2 / (expf(x + x) + 1); }
STAND_IN float rintf(float x) { return __builtin_rintf(x); }
STAND_IN double exp(double x) { return expf((float)x); }
STAND_IN double tanh(double x) { return 1 - 2 / (exp(x + x) + 1); }
