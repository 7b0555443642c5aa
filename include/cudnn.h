/* cuDNN's C API for recurrent networks, and what they need: handles, tensors, filters and dropout.
 * The values are those of cuDNN 9. Beside its functions there are the older ones for RNNs, which
 * cuDNN 9 has no more: they work on the same descriptors.
 *
 * Every function that can fail returns a cudnnStatus_t; a failure leaves its outputs unwritten.
 * `T *` parameters are outputs, `const T *` and arrays of descriptors are inputs. Data pointers
 * (`void *`) are in the memory of the handle's device unless a comment says host. Sizes are in
 * bytes, strides in elements.
 *
 * Letters: L layers, D directions (1 or 2), H hidden size, P projected size (H without projection),
 * I input size, T steps, B batch. A pseudo-layer counts directions separately: layer * D +
 * direction.
 */

#ifndef CUDNN_H
#define CUDNN_H

#include <stddef.h>
#include <stdint.h>

#include <cudnn_version.h>

/* Programs expect CUDA's functions from here, too; without CUDA there is only its type of streams.
 */
#ifdef __has_include
#if __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>
#define CUDNN_WITH_CUDA_RUNTIME
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Programs declare functions with it. */
#ifndef CUDNNWINAPI
#define CUDNNWINAPI
#endif

#if defined(__GNUC__)
#define CUDNN_EXPORT __attribute__((visibility("default")))
#else
#define CUDNN_EXPORT
#endif

#ifndef CUDNN_WITH_CUDA_RUNTIME
typedef struct CUstream_st *cudaStream_t;
#endif

/* Handles and descriptors are opaque. */
typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnDropoutStruct *cudnnDropoutDescriptor_t;
typedef struct cudnnRNNStruct *cudnnRNNDescriptor_t;
typedef struct cudnnRNNDataStruct *cudnnRNNDataDescriptor_t;
typedef struct cudnnPersistentRNNPlan *cudnnPersistentRNNPlan_t;

/* ---- Enumerations ------------------------------------------------------------------------- */

/* Thousands are kinds of failure, what is below them the details. */
typedef enum {
    CUDNN_STATUS_SUCCESS = 0,
    CUDNN_STATUS_NOT_INITIALIZED = 1001,
    CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH = 1002,
    CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH = 1003,
    CUDNN_STATUS_DEPRECATED = 1004,
    CUDNN_STATUS_LICENSE_ERROR = 1005,
    CUDNN_STATUS_RUNTIME_IN_PROGRESS = 1006,
    CUDNN_STATUS_RUNTIME_FP_OVERFLOW = 1007,
    CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED = 1008,
    CUDNN_STATUS_BAD_PARAM = 2000,
    CUDNN_STATUS_BAD_PARAM_NULL_POINTER = 2002,
    CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER = 2003,
    CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED = 2004,
    CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND = 2005,
    CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT = 2006,
    CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH = 2007,
    CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH = 2008,
    CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES = 2009,
    CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE = 2010,
    CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH = 2011,
    CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE = 2012,
    CUDNN_STATUS_NOT_SUPPORTED = 3000,
    CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN = 3001,
    CUDNN_STATUS_NOT_SUPPORTED_SHAPE = 3002,
    CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE = 3003,
    CUDNN_STATUS_NOT_SUPPORTED_LAYOUT = 3004,
    CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER = 3005,
    CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART = 3006,
    CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH = 3007,
    CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING = 3008,
    CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE = 3009,
    CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT = 3010,
    CUDNN_STATUS_NOT_SUPPORTED_PADDING = 3011,
    CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM = 3012,
    CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API = 3013,
    CUDNN_STATUS_INTERNAL_ERROR = 4000,
    CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED = 4001,
    CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE = 4002,
    CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED = 4003,
    CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4004,
    CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM = 4005,
    CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED = 4006,
    CUDNN_STATUS_EXECUTION_FAILED = 5000,
    CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER = 5001,
    CUDNN_STATUS_EXECUTION_FAILED_CUBLAS = 5002,
    CUDNN_STATUS_EXECUTION_FAILED_CUDART = 5003,
    CUDNN_STATUS_EXECUTION_FAILED_CURAND = 5004,

    /* Former names. */
    CUDNN_STATUS_ALLOC_FAILED = 4003,
    CUDNN_STATUS_INVALID_VALUE = 2001,
    CUDNN_STATUS_ARCH_MISMATCH = 3007,
    CUDNN_STATUS_MAPPING_ERROR = 4006,
    CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING = 3008,
    CUDNN_STATUS_VERSION_MISMATCH = 1002
} cudnnStatus_t;

/* Element types. RNNs take FLOAT, DOUBLE, HALF and BFLOAT16. */
typedef enum {
    CUDNN_DATA_FLOAT = 0,
    CUDNN_DATA_DOUBLE = 1,
    CUDNN_DATA_HALF = 2,
    CUDNN_DATA_INT8 = 3,
    CUDNN_DATA_INT32 = 4,
    CUDNN_DATA_UINT8 = 6,
    CUDNN_DATA_BFLOAT16 = 9,
    CUDNN_DATA_INT64 = 10
} cudnnDataType_t;

/* Order of the axes in memory, slowest first. */
typedef enum {
    CUDNN_TENSOR_NCHW = 0,
    CUDNN_TENSOR_NHWC = 1,
    CUDNN_TENSOR_NCHW_VECT_C = 2
} cudnnTensorFormat_t;

/* A hint for speed: products are summed in float, or in double for double data, whatever it is. */
typedef enum {
    CUDNN_DEFAULT_MATH = 0,
    CUDNN_TENSOR_OP_MATH = 1,
    CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION = 2,
    CUDNN_FMA_MATH = 3
} cudnnMathType_t;

/* What clipping makes of a NaN: a bound, or a NaN. */
typedef enum { CUDNN_NOT_PROPAGATE_NAN = 0, CUDNN_PROPAGATE_NAN = 1 } cudnnNanPropagation_t;

/* Cells. linLayerID of the input side: RELU, TANH 0; LSTM i 0, f 1, g 2, o 3; GRU r 0, z 1, n 2.
 * The recurrent side follows in the same order; 8 is LSTM's projection. */
typedef enum {
    CUDNN_RNN_RELU = 0,
    CUDNN_RNN_TANH = 1,
    CUDNN_LSTM = 2,
    CUDNN_GRU = 3
} cudnnRNNMode_t;

/* Which bias vectors a gate has. */
typedef enum {
    CUDNN_RNN_NO_BIAS = 0,
    CUDNN_RNN_SINGLE_INP_BIAS = 1,
    CUDNN_RNN_DOUBLE_BIAS = 2,
    CUDNN_RNN_SINGLE_REC_BIAS = 3
} cudnnRNNBiasMode_t;

typedef enum { CUDNN_UNIDIRECTIONAL = 0, CUDNN_BIDIRECTIONAL = 1 } cudnnDirectionMode_t;

/* LINEAR: layer 0 multiplies x by a matrix; SKIP: it adds x to every gate, which needs I = H. */
typedef enum { CUDNN_LINEAR_INPUT = 0, CUDNN_SKIP_INPUT = 1 } cudnnRNNInputMode_t;

/* Hints for speed; the answers are the same. */
typedef enum {
    CUDNN_RNN_ALGO_STANDARD = 0,
    CUDNN_RNN_ALGO_PERSIST_STATIC = 1,
    CUDNN_RNN_ALGO_PERSIST_DYNAMIC = 2,
    CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H = 3,
    CUDNN_RNN_ALGO_COUNT = 4
} cudnnRNNAlgo_t;

typedef enum { CUDNN_FWD_MODE_INFERENCE = 0, CUDNN_FWD_MODE_TRAINING = 1 } cudnnForwardMode_t;

/* Of LSTM's cell state. */
typedef enum { CUDNN_RNN_CLIP_NONE = 0, CUDNN_RNN_CLIP_MINMAX = 1 } cudnnRNNClipMode_t;

/* (T, B, features) padded; packed rows, lengths descending; (B, T, features) padded. */
typedef enum {
    CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED = 0,
    CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED = 1,
    CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED = 2
} cudnnRNNDataLayout_t;

/* What backward weights does with the gradient that is there; RNNs can only add to it. */
typedef enum { CUDNN_WGRAD_MODE_ADD = 0, CUDNN_WGRAD_MODE_SET = 1 } cudnnWgradMode_t;

/* auxFlags of cudnnSetRNNDescriptor_v8, paddingMode of cudnnSetRNNPaddingMode: whether sequences of
 * different lengths may be padded. */
#define CUDNN_RNN_PADDED_IO_DISABLED 0
#define CUDNN_RNN_PADDED_IO_ENABLED (1U << 0)
typedef unsigned cudnnRNNPaddingMode_t;

/* The most dimensions that a tensor or a filter may have. */
#define CUDNN_DIM_MAX 8

/* The kind of a status and its details. */
#define CUDNN_STATUS_CATEGORY(full_error_code) ((full_error_code) / 1000 * 1000)
#define CUDNN_STATUS_SPECIFIC_ERROR(full_error_code) ((full_error_code) % 1000)

/* ---- Handle ------------------------------------------------------------------------------- */

/* CUDNN_VERSION of the library. */
CUDNN_EXPORT size_t cudnnGetVersion(void);

/* The enumerator's name, or "CUDNN_UNKNOWN_STATUS". */
CUDNN_EXPORT const char *cudnnGetErrorString(cudnnStatus_t status);

/* What was wrong with the calling thread's last call that failed, "" before any; at most max_size
 * bytes, which end with 0. message may be NULL. */
CUDNN_EXPORT void cudnnGetLastErrorString(char *message, size_t max_size);

/* A handle on the default stream. */
CUDNN_EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle);

/* Destroying NULL succeeds; this holds for every Destroy function. */
CUDNN_EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);

/* The caller keeps owning the stream. */
CUDNN_EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId);
CUDNN_EXPORT cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *streamId);

/* ---- Tensors and filters ------------------------------------------------------------------ */

/* A descriptor of no dimensions and type float. */
CUDNN_EXPORT cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensorDesc);
CUDNN_EXPORT cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensorDesc);

/* (n, c, h, w), packed in the given format. */
CUDNN_EXPORT cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc,
                                                      cudnnTensorFormat_t format,
                                                      cudnnDataType_t dataType, int n, int c, int h,
                                                      int w);
CUDNN_EXPORT cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensorDesc,
                                                        cudnnDataType_t dataType, int n, int c,
                                                        int h, int w, int nStride, int cStride,
                                                        int hStride, int wStride);
CUDNN_EXPORT cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t tensorDesc,
                                                      cudnnDataType_t *dataType, int *n, int *c,
                                                      int *h, int *w, int *nStride, int *cStride,
                                                      int *hStride, int *wStride);

/* nbDims lengths and strides, all > 0. */
CUDNN_EXPORT cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensorDesc,
                                                      cudnnDataType_t dataType, int nbDims,
                                                      const int *dimA, const int *strideA);

/* Packed in the given format; lengths are in the order n, c, h, w whatever it is. */
CUDNN_EXPORT cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensorDesc,
                                                        cudnnTensorFormat_t format,
                                                        cudnnDataType_t dataType, int nbDims,
                                                        const int *dimA);

/* The first nbDimsRequested lengths and strides; nbDims is how many there are. */
CUDNN_EXPORT cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensorDesc,
                                                      int nbDimsRequested,
                                                      cudnnDataType_t *dataType, int *nbDims,
                                                      int *dimA, int *strideA);

/* Bytes from the first element to the end of the last, gaps between strides included. */
CUDNN_EXPORT cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t tensorDesc,
                                                     size_t *size);

/* A filter describes the weights of the functions below that are not of version 8. */
CUDNN_EXPORT cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filterDesc);
CUDNN_EXPORT cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filterDesc);
CUDNN_EXPORT cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filterDesc,
                                                      cudnnDataType_t dataType,
                                                      cudnnTensorFormat_t format, int k, int c,
                                                      int h, int w);
CUDNN_EXPORT cudnnStatus_t cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t filterDesc,
                                                      cudnnDataType_t *dataType,
                                                      cudnnTensorFormat_t *format, int *k, int *c,
                                                      int *h, int *w);
CUDNN_EXPORT cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filterDesc,
                                                      cudnnDataType_t dataType,
                                                      cudnnTensorFormat_t format, int nbDims,
                                                      const int *filterDimA);
CUDNN_EXPORT cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filterDesc,
                                                      int nbDimsRequested,
                                                      cudnnDataType_t *dataType,
                                                      cudnnTensorFormat_t *format, int *nbDims,
                                                      int *filterDimA);
CUDNN_EXPORT cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t filterDesc,
                                                     size_t *size);

/* ---- Dropout ------------------------------------------------------------------------------ */

/* A descriptor of rate 0, which drops nothing. */
CUDNN_EXPORT cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t *dropoutDesc);
CUDNN_EXPORT cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc);

/* Bytes of the generator states that SetDropoutDescriptor wants. */
CUDNN_EXPORT cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t *sizeInBytes);
CUDNN_EXPORT cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t xdesc,
                                                           size_t *sizeInBytes);

/* Set initialises states from the seed unless they are NULL, Restore takes them as they are. */
CUDNN_EXPORT cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc,
                                                     cudnnHandle_t handle, float dropout,
                                                     void *states, size_t stateSizeInBytes,
                                                     unsigned long long seed);
CUDNN_EXPORT cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc,
                                                         cudnnHandle_t handle, float dropout,
                                                         void *states, size_t stateSizeInBytes,
                                                         unsigned long long seed);
CUDNN_EXPORT cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc,
                                                     cudnnHandle_t handle, float *dropout,
                                                     void **states, unsigned long long *seed);

CUDNN_EXPORT cudnnStatus_t cudnnDropoutForward(cudnnHandle_t handle,
                                               const cudnnDropoutDescriptor_t dropoutDesc,
                                               const cudnnTensorDescriptor_t xdesc, const void *x,
                                               const cudnnTensorDescriptor_t ydesc, void *y,
                                               void *reserveSpace, size_t reserveSpaceSizeInBytes);
CUDNN_EXPORT cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t handle,
                                                const cudnnDropoutDescriptor_t dropoutDesc,
                                                const cudnnTensorDescriptor_t dydesc,
                                                const void *dy,
                                                const cudnnTensorDescriptor_t dxdesc, void *dx,
                                                void *reserveSpace, size_t reserveSpaceSizeInBytes);

/* ---- RNN descriptors ---------------------------------------------------------------------- */

CUDNN_EXPORT cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t *rnnDesc);
CUDNN_EXPORT cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t rnnDesc);

/* projSize is hiddenSize without projection; dropoutDesc may be NULL, auxFlags are
 * CUDNN_RNN_PADDED_IO_... */
CUDNN_EXPORT cudnnStatus_t cudnnSetRNNDescriptor_v8(
    cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t algo, cudnnRNNMode_t cellMode,
    cudnnRNNBiasMode_t biasMode, cudnnDirectionMode_t dirMode, cudnnRNNInputMode_t inputMode,
    cudnnDataType_t dataType, cudnnDataType_t mathPrec, cudnnMathType_t mathType, int32_t inputSize,
    int32_t hiddenSize, int32_t projSize, int32_t numLayers, cudnnDropoutDescriptor_t dropoutDesc,
    uint32_t auxFlags);

/* Each pointer may be NULL. */
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNDescriptor_v8(
    cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t *algo, cudnnRNNMode_t *cellMode,
    cudnnRNNBiasMode_t *biasMode, cudnnDirectionMode_t *dirMode, cudnnRNNInputMode_t *inputMode,
    cudnnDataType_t *dataType, cudnnDataType_t *mathPrec, cudnnMathType_t *mathType,
    int32_t *inputSize, int32_t *hiddenSize, int32_t *projSize, int32_t *numLayers,
    cudnnDropoutDescriptor_t *dropoutDesc, uint32_t *auxFlags);

/* Bounds of LSTM's cell state wherever it is read; cy is as it was before. */
CUDNN_EXPORT cudnnStatus_t cudnnRNNSetClip_v8(cudnnRNNDescriptor_t rnnDesc,
                                              cudnnRNNClipMode_t clipMode,
                                              cudnnNanPropagation_t clipNanOpt, double lclip,
                                              double rclip);
CUDNN_EXPORT cudnnStatus_t cudnnRNNSetClip_v9(cudnnRNNDescriptor_t rnnDesc,
                                              cudnnRNNClipMode_t clipMode, double lclip,
                                              double rclip);

/* Each pointer may be NULL. */
CUDNN_EXPORT cudnnStatus_t cudnnRNNGetClip_v8(cudnnRNNDescriptor_t rnnDesc,
                                              cudnnRNNClipMode_t *clipMode,
                                              cudnnNanPropagation_t *clipNanOpt, double *lclip,
                                              double *rclip);
CUDNN_EXPORT cudnnStatus_t cudnnRNNGetClip_v9(cudnnRNNDescriptor_t rnnDesc,
                                              cudnnRNNClipMode_t *clipMode, double *lclip,
                                              double *rclip);

/* Accepted for CUDNN_RNN_ALGO_PERSIST_DYNAMIC; there is nothing to build. */
CUDNN_EXPORT cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                                int miniBatch);

CUDNN_EXPORT cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t *rnnDataDesc);
CUDNN_EXPORT cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc);

/* seqLengthArray and paddingFill are host memory. paddingFill: one value of dataType for the
 * padding of y, NULL leaves it undefined. */
CUDNN_EXPORT cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc,
                                                     cudnnDataType_t dataType,
                                                     cudnnRNNDataLayout_t layout, int maxSeqLength,
                                                     int batchSize, int vectorSize,
                                                     const int *seqLengthArray, void *paddingFill);

/* arrayLengthRequested must be at least the batch; lengths behind it are 0. */
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc,
                                                     cudnnDataType_t *dataType,
                                                     cudnnRNNDataLayout_t *layout,
                                                     int *maxSeqLength, int *batchSize,
                                                     int *vectorSize, int arrayLengthRequested,
                                                     int *seqLengthArray, void *paddingFill);

/* ---- RNN sizes and parameters ------------------------------------------------------------- */

/* Of the shapes in xDesc; the reserve is 0 for inference. Each pointer may be NULL. */
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNTempSpaceSizes(
    cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnForwardMode_t fwdMode,
    cudnnRNNDataDescriptor_t xDesc, size_t *workSpaceSize, size_t *reserveSpaceSize);

/* The whole buffer of weights and biases. */
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle,
                                                      cudnnRNNDescriptor_t rnnDesc,
                                                      size_t *weightSpaceSize);

/* The matrix {1, rows, columns} and the bias {1, rows, 1} of one gate, and where they are in
 * weightSpace; no dimensions and NULL where the network has none. mDesc, mAddr, bDesc and bAddr may
 * be NULL. */
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle,
                                                   cudnnRNNDescriptor_t rnnDesc,
                                                   int32_t pseudoLayer, size_t weightSpaceSize,
                                                   const void *weightSpace, int32_t linLayerID,
                                                   cudnnTensorDescriptor_t mDesc, void **mAddr,
                                                   cudnnTensorDescriptor_t bDesc, void **bAddr);

/* ---- RNN passes --------------------------------------------------------------------------- */

/* State pointers (hx, cx, hy, cy and their gradients) may be NULL: zeros going in, not wanted
 * coming out. Descriptors of h {L * D, B, P} and c {L * D, B, H} may be NULL where all their
 * pointers are. devSeqLengths are not looked at: the lengths are those of xDesc. The reserve space
 * carries the training pass to its backward passes, backward data before backward weights. */

CUDNN_EXPORT cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                           cudnnForwardMode_t fwdMode, const int32_t *devSeqLengths,
                                           cudnnRNNDataDescriptor_t xDesc, const void *x,
                                           cudnnRNNDataDescriptor_t yDesc, void *y,
                                           cudnnTensorDescriptor_t hDesc, const void *hx, void *hy,
                                           cudnnTensorDescriptor_t cDesc, const void *cx, void *cy,
                                           size_t weightSpaceSize, const void *weightSpace,
                                           size_t workSpaceSize, void *workSpace,
                                           size_t reserveSpaceSize, void *reserveSpace);
CUDNN_EXPORT cudnnStatus_t cudnnRNNBackwardData_v8(
    cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, const int32_t *devSeqLengths,
    cudnnRNNDataDescriptor_t yDesc, const void *y, const void *dy, cudnnRNNDataDescriptor_t xDesc,
    void *dx, cudnnTensorDescriptor_t hDesc, const void *hx, const void *dhy, void *dhx,
    cudnnTensorDescriptor_t cDesc, const void *cx, const void *dcy, void *dcx,
    size_t weightSpaceSize, const void *weightSpace, size_t workSpaceSize, void *workSpace,
    size_t reserveSpaceSize, void *reserveSpace);

/* Adds to dweightSpace. */
CUDNN_EXPORT cudnnStatus_t cudnnRNNBackwardWeights_v8(
    cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnWgradMode_t addGrad,
    const int32_t *devSeqLengths, cudnnRNNDataDescriptor_t xDesc, const void *x,
    cudnnTensorDescriptor_t hDesc, const void *hx, cudnnRNNDataDescriptor_t yDesc, const void *y,
    size_t weightSpaceSize, void *dweightSpace, size_t workSpaceSize, void *workSpace,
    size_t reserveSpaceSize, void *reserveSpace);

/* ---- RNN descriptors before version 8 ----------------------------------------------------- */

/* These make an RNN descriptor step by step; what is not set is CUDNN_DEFAULT_MATH,
 * CUDNN_RNN_DOUBLE_BIAS, no clipping, no projection and no padding. */

CUDNN_EXPORT cudnnStatus_t cudnnSetRNNDescriptor(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                                 const int hiddenSize, const int numLayers,
                                                 cudnnDropoutDescriptor_t dropoutDesc,
                                                 cudnnRNNInputMode_t inputMode,
                                                 cudnnDirectionMode_t direction,
                                                 cudnnRNNMode_t mode, cudnnRNNAlgo_t algo,
                                                 cudnnDataType_t mathPrec);
CUDNN_EXPORT cudnnStatus_t cudnnSetRNNDescriptor_v5(cudnnRNNDescriptor_t rnnDesc,
                                                    const int hiddenSize, const int numLayers,
                                                    cudnnDropoutDescriptor_t dropoutDesc,
                                                    cudnnRNNInputMode_t inputMode,
                                                    cudnnDirectionMode_t direction,
                                                    cudnnRNNMode_t mode, cudnnDataType_t mathPrec);
CUDNN_EXPORT cudnnStatus_t
cudnnSetRNNDescriptor_v6(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, const int hiddenSize,
                         const int numLayers, cudnnDropoutDescriptor_t dropoutDesc,
                         cudnnRNNInputMode_t inputMode, cudnnDirectionMode_t direction,
                         cudnnRNNMode_t mode, cudnnRNNAlgo_t algo, cudnnDataType_t mathPrec);

/* Each pointer may be NULL; the same for cudnnRNNGetClip. */
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNDescriptor(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                                 int *hiddenSize, int *numLayers,
                                                 cudnnDropoutDescriptor_t *dropoutDesc,
                                                 cudnnRNNInputMode_t *inputMode,
                                                 cudnnDirectionMode_t *direction,
                                                 cudnnRNNMode_t *mode, cudnnRNNAlgo_t *algo,
                                                 cudnnDataType_t *mathPrec);
CUDNN_EXPORT cudnnStatus_t
cudnnGetRNNDescriptor_v6(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int *hiddenSize,
                         int *numLayers, cudnnDropoutDescriptor_t *dropoutDesc,
                         cudnnRNNInputMode_t *inputMode, cudnnDirectionMode_t *direction,
                         cudnnRNNMode_t *mode, cudnnRNNAlgo_t *algo, cudnnDataType_t *mathPrec);

CUDNN_EXPORT cudnnStatus_t cudnnSetRNNMatrixMathType(cudnnRNNDescriptor_t rnnDesc,
                                                     cudnnMathType_t mType);
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNMatrixMathType(cudnnRNNDescriptor_t rnnDesc,
                                                     cudnnMathType_t *mType);
CUDNN_EXPORT cudnnStatus_t cudnnSetRNNBiasMode(cudnnRNNDescriptor_t rnnDesc,
                                               cudnnRNNBiasMode_t biasMode);
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNBiasMode(cudnnRNNDescriptor_t rnnDesc,
                                               cudnnRNNBiasMode_t *biasMode);
CUDNN_EXPORT cudnnStatus_t cudnnSetRNNPaddingMode(cudnnRNNDescriptor_t rnnDesc,
                                                  unsigned paddingMode);
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNPaddingMode(cudnnRNNDescriptor_t rnnDesc,
                                                  unsigned *paddingMode);
CUDNN_EXPORT cudnnStatus_t cudnnRNNSetClip(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                           cudnnRNNClipMode_t clipMode,
                                           cudnnNanPropagation_t clipNanOpt, double lclip,
                                           double rclip);
CUDNN_EXPORT cudnnStatus_t cudnnRNNGetClip(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                           cudnnRNNClipMode_t *clipMode,
                                           cudnnNanPropagation_t *clipNanOpt, double *lclip,
                                           double *rclip);

/* outProjSize must be 0. */
CUDNN_EXPORT cudnnStatus_t cudnnSetRNNProjectionLayers(cudnnHandle_t handle,
                                                       cudnnRNNDescriptor_t rnnDesc,
                                                       const int recProjSize,
                                                       const int outProjSize);
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNProjectionLayers(cudnnHandle_t handle,
                                                       const cudnnRNNDescriptor_t rnnDesc,
                                                       int *recProjSize, int *outProjSize);

/* Accepted for CUDNN_RNN_ALGO_PERSIST_DYNAMIC; a plan holds nothing. */
CUDNN_EXPORT cudnnStatus_t cudnnCreatePersistentRNNPlan(cudnnRNNDescriptor_t rnnDesc,
                                                        const int minibatch,
                                                        const cudnnDataType_t dataType,
                                                        cudnnPersistentRNNPlan_t *plan);
CUDNN_EXPORT cudnnStatus_t cudnnDestroyPersistentRNNPlan(cudnnPersistentRNNPlan_t plan);
CUDNN_EXPORT cudnnStatus_t cudnnSetPersistentRNNPlan(cudnnRNNDescriptor_t rnnDesc,
                                                     cudnnPersistentRNNPlan_t plan);

/* ---- RNN sizes and parameters before version 8 -------------------------------------------- */

/* xDesc: one {batch, I, 1} descriptor per step, batches not increasing. */
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNWorkspaceSize(cudnnHandle_t handle,
                                                    const cudnnRNNDescriptor_t rnnDesc,
                                                    const int seqLength,
                                                    const cudnnTensorDescriptor_t *xDesc,
                                                    size_t *sizeInBytes);
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNTrainingReserveSize(cudnnHandle_t handle,
                                                          const cudnnRNNDescriptor_t rnnDesc,
                                                          const int seqLength,
                                                          const cudnnTensorDescriptor_t *xDesc,
                                                          size_t *sizeInBytes);

/* xDesc is the descriptor of any step. */
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNParamsSize(cudnnHandle_t handle,
                                                 const cudnnRNNDescriptor_t rnnDesc,
                                                 const cudnnTensorDescriptor_t xDesc,
                                                 size_t *sizeInBytes, cudnnDataType_t dataType);

/* The filter {1, rows, columns} of a matrix or {1, rows, 1} of a bias, and where it is in w;
 * offsets from 0 where w is NULL. */
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNLinLayerMatrixParams(
    cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int pseudoLayer,
    const cudnnTensorDescriptor_t xDesc, const cudnnFilterDescriptor_t wDesc, const void *w,
    const int linLayerID, cudnnFilterDescriptor_t linLayerMatDesc, void **linLayerMat);
CUDNN_EXPORT cudnnStatus_t cudnnGetRNNLinLayerBiasParams(
    cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int pseudoLayer,
    const cudnnTensorDescriptor_t xDesc, const cudnnFilterDescriptor_t wDesc, const void *w,
    const int linLayerID, cudnnFilterDescriptor_t linLayerBiasDesc, void **linLayerBias);

/* ---- RNN passes before version 8 ---------------------------------------------------------- */

/* On arrays of one descriptor per step. */
CUDNN_EXPORT cudnnStatus_t cudnnRNNForwardInference(
    cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength,
    const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc,
    const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx,
    const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t *yDesc,
    void *y, const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc,
    void *cy, void *workspace, size_t workSpaceSizeInBytes);
CUDNN_EXPORT cudnnStatus_t cudnnRNNForwardTraining(
    cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength,
    const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc,
    const void *hx, const cudnnTensorDescriptor_t cxDesc, const void *cx,
    const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t *yDesc,
    void *y, const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc,
    void *cy, void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace,
    size_t reserveSpaceSizeInBytes);
CUDNN_EXPORT cudnnStatus_t cudnnRNNBackwardData(
    cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength,
    const cudnnTensorDescriptor_t *yDesc, const void *y, const cudnnTensorDescriptor_t *dyDesc,
    const void *dy, const cudnnTensorDescriptor_t dhyDesc, const void *dhy,
    const cudnnTensorDescriptor_t dcyDesc, const void *dcy, const cudnnFilterDescriptor_t wDesc,
    const void *w, const cudnnTensorDescriptor_t hxDesc, const void *hx,
    const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnTensorDescriptor_t *dxDesc,
    void *dx, const cudnnTensorDescriptor_t dhxDesc, void *dhx,
    const cudnnTensorDescriptor_t dcxDesc, void *dcx, void *workspace, size_t workSpaceSizeInBytes,
    void *reserveSpace, size_t reserveSpaceSizeInBytes);

/* Adds to dw. */
CUDNN_EXPORT cudnnStatus_t cudnnRNNBackwardWeights(
    cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const int seqLength,
    const cudnnTensorDescriptor_t *xDesc, const void *x, const cudnnTensorDescriptor_t hxDesc,
    const void *hx, const cudnnTensorDescriptor_t *yDesc, const void *y, const void *workspace,
    size_t workSpaceSizeInBytes, const cudnnFilterDescriptor_t dwDesc, void *dw,
    const void *reserveSpace, size_t reserveSpaceSizeInBytes);

/* On data descriptors. Keys, queries and attention are reserved: NULL. */
CUDNN_EXPORT cudnnStatus_t cudnnRNNForwardInferenceEx(
    cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const cudnnRNNDataDescriptor_t xDesc,
    const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx,
    const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnFilterDescriptor_t wDesc,
    const void *w, const cudnnRNNDataDescriptor_t yDesc, void *y,
    const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc, void *cy,
    const cudnnRNNDataDescriptor_t kDesc, const void *keys, const cudnnRNNDataDescriptor_t cDesc,
    void *cAttn, const cudnnRNNDataDescriptor_t iDesc, void *iAttn,
    const cudnnRNNDataDescriptor_t qDesc, void *queries, void *workSpace,
    size_t workSpaceSizeInBytes);
CUDNN_EXPORT cudnnStatus_t cudnnRNNForwardTrainingEx(
    cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const cudnnRNNDataDescriptor_t xDesc,
    const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx,
    const cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnFilterDescriptor_t wDesc,
    const void *w, const cudnnRNNDataDescriptor_t yDesc, void *y,
    const cudnnTensorDescriptor_t hyDesc, void *hy, const cudnnTensorDescriptor_t cyDesc, void *cy,
    const cudnnRNNDataDescriptor_t kDesc, const void *keys, const cudnnRNNDataDescriptor_t cDesc,
    void *cAttn, const cudnnRNNDataDescriptor_t iDesc, void *iAttn,
    const cudnnRNNDataDescriptor_t qDesc, void *queries, void *workSpace,
    size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes);
CUDNN_EXPORT cudnnStatus_t cudnnRNNBackwardDataEx(
    cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const cudnnRNNDataDescriptor_t yDesc,
    const void *y, const cudnnRNNDataDescriptor_t dyDesc, const void *dy,
    const cudnnRNNDataDescriptor_t dcDesc, const void *dcAttn,
    const cudnnTensorDescriptor_t dhyDesc, const void *dhy, const cudnnTensorDescriptor_t dcyDesc,
    const void *dcy, const cudnnFilterDescriptor_t wDesc, const void *w,
    const cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t cxDesc,
    const void *cx, const cudnnRNNDataDescriptor_t dxDesc, void *dx,
    const cudnnTensorDescriptor_t dhxDesc, void *dhx, const cudnnTensorDescriptor_t dcxDesc,
    void *dcx, const cudnnRNNDataDescriptor_t dkDesc, void *dkeys, void *workSpace,
    size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes);
CUDNN_EXPORT cudnnStatus_t cudnnRNNBackwardWeightsEx(
    cudnnHandle_t handle, const cudnnRNNDescriptor_t rnnDesc, const cudnnRNNDataDescriptor_t xDesc,
    const void *x, const cudnnTensorDescriptor_t hxDesc, const void *hx,
    const cudnnRNNDataDescriptor_t yDesc, const void *y, void *workSpace,
    size_t workSpaceSizeInBytes, const cudnnFilterDescriptor_t dwDesc, void *dw, void *reserveSpace,
    size_t reserveSpaceSizeInBytes);

#ifdef __cplusplus
}
#endif

#endif
