/* How the host reaches a device: functions of its libraries, and their numbers. */

/* cuLaunchKernel, hipModuleLaunchKernel. */
typedef int launch_function(void *function, unsigned int grid_x, unsigned int grid_y,
                            unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                            unsigned int block_z, unsigned int shared_nbytes, void *stream,
                            void **arguments, void **extra);

/* cuLaunchCooperativeKernel: all blocks run at a time, or there is an error. */
typedef int launch_together_function(void *function, unsigned int grid_x, unsigned int grid_y,
                                     unsigned int grid_z, unsigned int block_x,
                                     unsigned int block_y, unsigned int block_z,
                                     unsigned int shared_nbytes, void *stream, void **arguments);

enum { CLUSTER_DIMENSION = 4 }; /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */

/* CUlaunchAttribute and CUlaunchConfig, with one kind of attribute. */
typedef struct {
    int id; /* CLUSTER_DIMENSION */
    int padding;
    unsigned int cluster_x, cluster_y, cluster_z;
    unsigned int unused[13];
} launch_attribute;

typedef struct {
    unsigned int grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_nbytes;
    void *stream;
    launch_attribute *attributes;
    unsigned int num_attributes;
} launch_config;

/* cuLaunchKernelEx. */
typedef int launch_configured_function(const launch_config *config, void *function,
                                       void **arguments, void **extra);

/* cublasGemmEx, hipblasGemmEx: C = alpha op(A) op(B) + beta C, all by columns. */
typedef int gemm_function(void *blas, int op_a, int op_b, int m, int n, int k, const void *alpha,
                          const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                          const void *beta, void *c, int c_type, int ldc, int compute,
                          int algorithm);

/* Arrays are indexed by the storage numbers of target.h, F32 to F64. */
typedef struct {
    launch_function *launch;
    launch_together_function *launch_together; /* NULL where there is none; the same of */
    launch_configured_function *launch_configured;
    gemm_function *gemm;
    void *blas, *stream;
    int no_transpose, transpose, algorithm;
    int type[4], compute[4];
    int most_blocks; /* of a grid; kernels stride over what is left */
} device_calls;
