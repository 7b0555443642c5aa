/* MIOpen's C API for recurrent networks, and what they need: handles, tensors and dropout. The rest
 * of the API is declared by unimplemented.h, included at the end.
 *
 * Every function but one returns a miopenStatus_t; a failure leaves its outputs unwritten. `T *`
 * parameters are outputs, `const T *` and arrays of descriptors are inputs. Data pointers
 * (`void *`) are in the memory of the handle's device unless a comment says host. Sizes are in
 * bytes, offsets and strides in elements.
 *
 * Letters: L layers, D directions (1 or 2), H hidden size, I input size, T steps, B batch. A
 * `layer` argument counts directions separately: layer * D + direction.
 */

#ifndef MIOPEN_MIOPEN_H
#define MIOPEN_MIOPEN_H

#include <stdbool.h>
#include <stddef.h>

/* Programs expect HIP's functions from here, too. MIOPY_CDEF: just the declarations are wanted. */
#ifndef MIOPY_CDEF
#include <hip/hip_runtime_api.h>
#endif
#include <miopen/config.h>
#include <miopen/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handles and descriptors are opaque: `name_t` is a pointer to `struct name`. */
#define MIOPEN_DECLARE_OBJECT(name) typedef struct name *name##_t

MIOPEN_DECLARE_OBJECT(miopenHandle);
MIOPEN_DECLARE_OBJECT(miopenTensorDescriptor);
MIOPEN_DECLARE_OBJECT(miopenSeqTensorDescriptor);
MIOPEN_DECLARE_OBJECT(miopenDropoutDescriptor);
MIOPEN_DECLARE_OBJECT(miopenRNNDescriptor);

/* The same type as hipStream_t. */
typedef struct ihipStream_t *miopenAcceleratorQueue_t;

/* ---- Enumerations ------------------------------------------------------------------------- */

typedef enum {
    miopenStatusSuccess = 0,
    miopenStatusNotInitialized = 1,
    miopenStatusInvalidValue = 2,
    miopenStatusBadParm = 3,
    miopenStatusAllocFailed = 4,
    miopenStatusInternalError = 5,
    miopenStatusNotImplemented = 6,
    miopenStatusUnknownError = 7, /* also: a buffer smaller than its size query says */
    miopenStatusUnsupportedOp = 8,
    miopenStatusGpuOperationsSkipped = 9,
    miopenStatusVersionMismatch = 10
} miopenStatus_t;

/* Element types. 4 is retired. RNNs take float and half. */
typedef enum {
    miopenHalf = 0,
    miopenFloat = 1,
    miopenInt32 = 2,
    miopenInt8 = 3,
    miopenBFloat16 = 5,
    miopenDouble = 6,
    miopenFloat8_fnuz = 7,
    miopenBFloat8_fnuz = 8,
    miopenInt64 = 9,
    miopenFloat8 = 7, /* former name */
    miopenBFloat8 = 8 /* former name */
} miopenDataType_t;

/* Order of the axes in memory, slowest first; c4 and c8 keep 4 or 8 channels together. */
typedef enum {
    miopenTensorNCHW = 0,
    miopenTensorNHWC = 1,
    miopenTensorCHWN = 2,
    miopenTensorNCHWc4 = 3,
    miopenTensorNCHWc8 = 4,
    miopenTensorCHWNc4 = 5,
    miopenTensorCHWNc8 = 6,
    miopenTensorNCDHW = 7,
    miopenTensorNDHWC = 8
} miopenTensorLayout_t;

typedef enum {
    miopenTensorOpAdd = 0,
    miopenTensorOpMul = 1,
    miopenTensorOpMin = 2,
    miopenTensorOpMax = 3
} miopenTensorOp_t;

/* Cells. Gate ids: LSTM i, f, o, g; GRU z, r, n. */
typedef enum {
    miopenRNNRELU = 0,
    miopenRNNTANH = 1,
    miopenLSTM = 2,
    miopenGRU = 3
} miopenRNNMode_t;

/* linear: layer 0 multiplies x by a matrix; skip: it adds x to every gate, which needs I = H. */
typedef enum { miopenRNNlinear = 0, miopenRNNskip = 1 } miopenRNNInputMode_t;

/* Hints for speed; the answers are the same, the sizes may differ. */
typedef enum {
    miopenRNNdefault = 0,
    miopenRNNfundamental = 1,
    miopenRNNroundedDynamic = 2
} miopenRNNAlgo_t;

typedef enum { miopenRNNunidirection = 0, miopenRNNbidirection = 1 } miopenRNNDirectionMode_t;

typedef enum { miopenRNNNoBias = 0, miopenRNNwithBias = 1 } miopenRNNBiasMode_t;

/* No function takes it. */
typedef enum { miopenRNNAlgoGEMM = 0 } miopenRNNGEMMalgoMode_t;

/* Whether x and y of the descriptor-array functions are (T, B, features) or packed rows. */
typedef enum { miopenRNNIONotPadded = 0, miopenRNNIOWithPadding = 1 } miopenRNNPaddingMode_t;

typedef enum { miopenRNNTraining = 0, miopenRNNInference = 1 } miopenRNNFWDMode_t;

/* Placement of a sequence tensor: packed rows (lengths descending), (T, B, I) or (B, T, I). */
typedef enum {
    miopenRNNDataUnknownLayout = 0,
    miopenRNNDataSeqMajorNotPadded = 1,
    miopenRNNDataSeqMajorPadded = 2,
    miopenRNNDataBatchMajorPadded = 3
} miopenRNNBaseLayout_t;

typedef enum { MIOPEN_RNG_PSEUDO_XORWOW = 0 } miopenRNGType_t;

/* No function of this header takes it. */
typedef enum { miopenMathDefault = 0, miopenMathPedantic = 1 } miopenMathType_t;

/* ---- Handle ------------------------------------------------------------------------------- */

typedef void *(*miopenAllocatorFunction)(void *context, size_t sizeBytes);
typedef void (*miopenDeallocatorFunction)(void *context, void *memory);

/* The enumerator's name, or "Unknown error status". */
MIOPEN_EXPORT const char *miopenGetErrorString(miopenStatus_t error);

/* The release in version.h; each pointer may be NULL. */
MIOPEN_EXPORT miopenStatus_t miopenGetVersion(size_t *major, size_t *minor, size_t *patch);

/* A handle on the default stream, or on a stream of the caller's, who keeps owning it. */
MIOPEN_EXPORT miopenStatus_t miopenCreate(miopenHandle_t *handle);
MIOPEN_EXPORT miopenStatus_t miopenCreateWithStream(miopenHandle_t *handle,
                                                    miopenAcceleratorQueue_t stream);

/* Destroying NULL succeeds; this holds for every Destroy function. */
MIOPEN_EXPORT miopenStatus_t miopenDestroy(miopenHandle_t handle);

MIOPEN_EXPORT miopenStatus_t miopenSetStream(miopenHandle_t handle,
                                             miopenAcceleratorQueue_t streamID);
MIOPEN_EXPORT miopenStatus_t miopenGetStream(miopenHandle_t handle,
                                             miopenAcceleratorQueue_t *streamID);

/* Where the handle takes device memory from; NULL for both functions restores the defaults. */
MIOPEN_EXPORT miopenStatus_t miopenSetAllocator(miopenHandle_t handle,
                                                miopenAllocatorFunction allocator,
                                                miopenDeallocatorFunction deallocator,
                                                void *allocatorContext);

/* While profiling, calls block, and GetKernelTime gives the milliseconds of the last one. */
MIOPEN_EXPORT miopenStatus_t miopenGetKernelTime(miopenHandle_t handle, float *time);
MIOPEN_EXPORT miopenStatus_t miopenEnableProfiling(miopenHandle_t handle, bool enable);

/* ---- Tensors ------------------------------------------------------------------------------ */

/* A descriptor of no dimensions and type float. */
MIOPEN_EXPORT miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t *tensorDesc);

/* (n, c, h, w), packed. */
MIOPEN_EXPORT miopenStatus_t miopenSet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t dataType, int n, int c,
                                                         int h, int w);

/* Packed in the given layout; lens are in the order N, C, (D), H, W whatever the layout. */
MIOPEN_EXPORT miopenStatus_t miopenSetNdTensorDescriptorWithLayout(
    miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType,
    miopenTensorLayout_t tensorLayout, const int *lens, int num_lens);

MIOPEN_EXPORT miopenStatus_t miopenSet4dTensorDescriptorEx(miopenTensorDescriptor_t tensorDesc,
                                                           miopenDataType_t dataType, int n, int c,
                                                           int h, int w, int nStride, int cStride,
                                                           int hStride, int wStride);

/* The first four dimensions. */
MIOPEN_EXPORT miopenStatus_t miopenGet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t *dataType, int *n, int *c,
                                                         int *h, int *w, int *nStride, int *cStride,
                                                         int *hStride, int *wStride);

/* nbDims lengths and strides, all > 0; stridesA NULL means packed, last dimension fastest. */
MIOPEN_EXPORT miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                       miopenDataType_t dataType, int nbDims,
                                                       const int *dimsA, const int *stridesA);
MIOPEN_EXPORT miopenStatus_t miopenSetTensorDescriptorV2(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t dataType, int nbDims,
                                                         const size_t *dimsA,
                                                         const size_t *stridesA);

/* Stored; recurrent networks do not look at it. */
MIOPEN_EXPORT miopenStatus_t miopenSetTensorCastType(miopenTensorDescriptor_t tensorDesc,
                                                     miopenDataType_t cast_type);

/* The number of dimensions, which GetTensorDescriptor's arrays must have room for. */
MIOPEN_EXPORT miopenStatus_t miopenGetTensorDescriptorSize(miopenTensorDescriptor_t tensorDesc,
                                                           int *size);

/* Each pointer may be NULL. */
MIOPEN_EXPORT miopenStatus_t miopenGetTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                       miopenDataType_t *dataType, int *dimsA,
                                                       int *stridesA);

MIOPEN_EXPORT miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensorDesc);

/* Filled by miopenSetRNNDataSeqTensorDescriptor. */
MIOPEN_EXPORT miopenStatus_t
miopenCreateSeqTensorDescriptor(miopenSeqTensorDescriptor_t *tensorDesc);
MIOPEN_EXPORT miopenStatus_t
miopenDestroySeqTensorDescriptor(miopenSeqTensorDescriptor_t tensorDesc);

/* C = op(alpha1 A, alpha2 B) + beta C; lengths of B are 1 or those of C. Scalars: host float. */
MIOPEN_EXPORT miopenStatus_t miopenOpTensor(miopenHandle_t handle, miopenTensorOp_t tensorOp,
                                            const void *alpha1,
                                            const miopenTensorDescriptor_t aDesc, const void *A,
                                            const void *alpha2,
                                            const miopenTensorDescriptor_t bDesc, const void *B,
                                            const void *beta, const miopenTensorDescriptor_t cDesc,
                                            void *C);

/* y = alpha; y = alpha y. alpha: one value of the tensor's type, host memory. */
MIOPEN_EXPORT miopenStatus_t miopenSetTensor(miopenHandle_t handle,
                                             const miopenTensorDescriptor_t yDesc, void *y,
                                             const void *alpha);
MIOPEN_EXPORT miopenStatus_t miopenScaleTensor(miopenHandle_t handle,
                                               const miopenTensorDescriptor_t yDesc, void *y,
                                               const void *alpha);

/* Bytes from the first element to the end of the last, gaps between strides included. */
MIOPEN_EXPORT miopenStatus_t miopenGetTensorNumBytes(miopenTensorDescriptor_t tensorDesc,
                                                     size_t *numBytes);

/* y = alpha x + beta y between tensors of equal lengths and any strides. */
MIOPEN_EXPORT miopenStatus_t miopenTransformTensor(miopenHandle_t handle, const void *alpha,
                                                   const miopenTensorDescriptor_t xDesc,
                                                   const void *x, const void *beta,
                                                   const miopenTensorDescriptor_t yDesc, void *y);

/* ---- Dropout ------------------------------------------------------------------------------ */

/* A descriptor of rate 0, which drops nothing. */
MIOPEN_EXPORT miopenStatus_t miopenCreateDropoutDescriptor(miopenDropoutDescriptor_t *dropoutDesc);
MIOPEN_EXPORT miopenStatus_t miopenDestroyDropoutDescriptor(miopenDropoutDescriptor_t dropoutDesc);

/* One byte per element of x. */
MIOPEN_EXPORT miopenStatus_t miopenDropoutGetReserveSpaceSize(const miopenTensorDescriptor_t xDesc,
                                                              size_t *reserveSpaceSizeInBytes);

/* Bytes of the generator states that SetDropoutDescriptor wants. */
MIOPEN_EXPORT miopenStatus_t miopenDropoutGetStatesSize(miopenHandle_t handle,
                                                        size_t *stateSizeInBytes);

MIOPEN_EXPORT miopenStatus_t miopenGetDropoutDescriptor(miopenDropoutDescriptor_t dropoutDesc,
                                                        miopenHandle_t handle, float *dropout,
                                                        void **states, unsigned long long *seed,
                                                        bool *use_mask, bool *state_evo,
                                                        miopenRNGType_t *rng_mode);

/* Restore takes states as they are; Set first initialises them from the seed. */
MIOPEN_EXPORT miopenStatus_t miopenRestoreDropoutDescriptor(miopenDropoutDescriptor_t dropoutDesc,
                                                            miopenHandle_t handle, float dropout,
                                                            void *states, size_t stateSizeInBytes,
                                                            unsigned long long seed, bool use_mask,
                                                            bool state_evo,
                                                            miopenRNGType_t rng_mode);
MIOPEN_EXPORT miopenStatus_t miopenSetDropoutDescriptor(miopenDropoutDescriptor_t dropoutDesc,
                                                        miopenHandle_t handle, float dropout,
                                                        void *states, size_t stateSizeInBytes,
                                                        unsigned long long seed, bool use_mask,
                                                        bool state_evo, miopenRNGType_t rng_mode);

/* y = x / (1 - dropout) where kept, else 0; the mask goes to, or comes from, reserveSpace. */
MIOPEN_EXPORT miopenStatus_t miopenDropoutForward(
    miopenHandle_t handle, const miopenDropoutDescriptor_t dropoutDesc,
    const miopenTensorDescriptor_t noise_shape, const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenTensorDescriptor_t yDesc, void *y, void *reserveSpace,
    size_t reserveSpaceSizeInBytes);
MIOPEN_EXPORT miopenStatus_t miopenDropoutBackward(
    miopenHandle_t handle, const miopenDropoutDescriptor_t dropoutDesc,
    const miopenTensorDescriptor_t noise_shape, const miopenTensorDescriptor_t dyDesc,
    const void *dy, const miopenTensorDescriptor_t dxDesc, void *dx, void *reserveSpace,
    size_t reserveSpaceSizeInBytes);

/* ---- RNN descriptors ---------------------------------------------------------------------- */

MIOPEN_EXPORT miopenStatus_t miopenCreateRNNDescriptor(miopenRNNDescriptor_t *rnnDesc);

/* Each pointer may be NULL. */
MIOPEN_EXPORT miopenStatus_t miopenGetRNNDescriptor(
    miopenRNNDescriptor_t rnnDesc, miopenRNNMode_t *rnnMode, miopenRNNAlgo_t *algoMode,
    miopenRNNInputMode_t *inputMode, miopenRNNDirectionMode_t *dirMode,
    miopenRNNBiasMode_t *biasMode, int *hiddenSize, int *layer);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNDescriptor_V2(
    miopenRNNDescriptor_t rnnDesc, int *hiddenSize, int *layer,
    miopenDropoutDescriptor_t *dropoutDesc, miopenRNNInputMode_t *inputMode,
    miopenRNNDirectionMode_t *dirMode, miopenRNNMode_t *rnnMode, miopenRNNBiasMode_t *biasMode,
    miopenRNNAlgo_t *algoMode, miopenDataType_t *dataType);

MIOPEN_EXPORT miopenStatus_t miopenDestroyRNNDescriptor(miopenRNNDescriptor_t rnnDesc);

/* Also sets the padding mode back to not padded, and dropout between layers to none. */
MIOPEN_EXPORT miopenStatus_t miopenSetRNNDescriptor(
    miopenRNNDescriptor_t rnnDesc, const int hsize, const int nlayers, miopenRNNInputMode_t inMode,
    miopenRNNDirectionMode_t direction, miopenRNNMode_t rnnMode, miopenRNNBiasMode_t biasMode,
    miopenRNNAlgo_t algo, miopenDataType_t dataType);

/* The dropout descriptor is kept by reference and must outlive rnnDesc. */
MIOPEN_EXPORT miopenStatus_t miopenSetRNNDescriptor_V2(
    miopenRNNDescriptor_t rnnDesc, const int hsize, const int nlayers,
    miopenDropoutDescriptor_t dropoutDesc, miopenRNNInputMode_t inMode,
    miopenRNNDirectionMode_t direction, miopenRNNMode_t rnnMode, miopenRNNBiasMode_t biasMode,
    miopenRNNAlgo_t algo, miopenDataType_t dataType);

/* batchSize lengths from 0 to maxSequenceLen. paddingMarker: NULL, or one value in host memory. */
MIOPEN_EXPORT miopenStatus_t miopenSetRNNDataSeqTensorDescriptor(
    miopenSeqTensorDescriptor_t seqTensorDesc, miopenDataType_t dataType,
    miopenRNNBaseLayout_t layout, int maxSequenceLen, int batchSize, int vectorSize,
    const int *sequenceLenArray, void *paddingMarker);

/* At most sequenceLenArrayLimit lengths are written; paddingMarker only if one was set. */
MIOPEN_EXPORT miopenStatus_t miopenGetRNNDataSeqTensorDescriptor(
    miopenSeqTensorDescriptor_t seqTensorDesc, miopenDataType_t *dataType,
    miopenRNNBaseLayout_t *layout, int *maxSequenceLen, int *batchSize, int *vectorSize,
    int sequenceLenArrayLimit, int *sequenceLenArray, void *paddingMarker);

/* Must precede the size queries. */
MIOPEN_EXPORT miopenStatus_t miopenSetRNNPaddingMode(miopenRNNDescriptor_t rnnDesc,
                                                     miopenRNNPaddingMode_t paddingMode);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNPaddingMode(miopenRNNDescriptor_t rnnDesc,
                                                     miopenRNNPaddingMode_t *paddingMode);

/* ---- RNN sizes and parameters ------------------------------------------------------------- */

/* xDesc: one {batch, I} descriptor per step, batches not increasing. */
MIOPEN_EXPORT miopenStatus_t miopenGetRNNWorkspaceSize(miopenHandle_t handle,
                                                       const miopenRNNDescriptor_t rnnDesc,
                                                       const int sequenceLen,
                                                       const miopenTensorDescriptor_t *xDesc,
                                                       size_t *numBytes);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNTrainingReserveSize(miopenHandle_t handle,
                                                             miopenRNNDescriptor_t rnnDesc,
                                                             const int sequenceLen,
                                                             const miopenTensorDescriptor_t *xDesc,
                                                             size_t *numBytes);

/* For the functions that take sequence tensors; the reserve is 0 for inference. */
MIOPEN_EXPORT miopenStatus_t miopenGetRNNTempSpaceSizes(
    miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, miopenSeqTensorDescriptor_t xDesc,
    miopenRNNFWDMode_t fwdMode, size_t *workSpaceSize, size_t *reserveSpaceSize);

/* The whole buffer of weights and biases; xDesc is the descriptor of any step. */
MIOPEN_EXPORT miopenStatus_t miopenGetRNNParamsSize(miopenHandle_t handle,
                                                    miopenRNNDescriptor_t rnnDesc,
                                                    miopenTensorDescriptor_t xDesc,
                                                    size_t *numBytes, miopenDataType_t dtype);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNParamsDescriptor(miopenHandle_t handle,
                                                          miopenRNNDescriptor_t rnnDesc,
                                                          miopenTensorDescriptor_t xDesc,
                                                          miopenTensorDescriptor_t wDesc,
                                                          miopenDataType_t dtype);

MIOPEN_EXPORT miopenStatus_t miopenGetRNNInputTensorSize(miopenHandle_t handle,
                                                         miopenRNNDescriptor_t rnnDesc,
                                                         const int seqLen,
                                                         miopenTensorDescriptor_t *xDesc,
                                                         size_t *numBytes);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNHiddenTensorSize(miopenHandle_t handle,
                                                          miopenRNNDescriptor_t rnnDesc,
                                                          const int seqLen,
                                                          miopenTensorDescriptor_t *xDesc,
                                                          size_t *numBytes);

/* paramID, biasID: gate g of the input side is g, of the recurrent side number of gates + g. */
MIOPEN_EXPORT miopenStatus_t miopenGetRNNLayerParamSize(miopenHandle_t handle,
                                                        miopenRNNDescriptor_t rnnDesc,
                                                        const int layer,
                                                        miopenTensorDescriptor_t xDesc,
                                                        const int paramID, size_t *numBytes);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNLayerBiasSize(miopenHandle_t handle,
                                                       miopenRNNDescriptor_t rnnDesc,
                                                       const int layer, const int biasID,
                                                       size_t *numBytes);

/* Copy one matrix or bias out of w; a NULL destination only fills the descriptor. */
MIOPEN_EXPORT miopenStatus_t miopenGetRNNLayerParam(
    miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int layer,
    miopenTensorDescriptor_t xDesc, miopenTensorDescriptor_t wDesc, const void *w,
    const int paramID, miopenTensorDescriptor_t paramDesc, void *layerParam);
MIOPEN_EXPORT miopenStatus_t
miopenGetRNNLayerBias(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int layer,
                      miopenTensorDescriptor_t xDesc, miopenTensorDescriptor_t wDesc, const void *w,
                      const int biasID, miopenTensorDescriptor_t biasDesc, void *layerBias);

/* Where it is in w; a NULL offset only fills the descriptor. */
MIOPEN_EXPORT miopenStatus_t miopenGetRNNLayerParamOffset(
    miopenRNNDescriptor_t rnnDesc, const int layer, miopenTensorDescriptor_t xDesc,
    const int paramID, miopenTensorDescriptor_t paramDesc, size_t *layerParamOffset);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNLayerBiasOffset(
    miopenRNNDescriptor_t rnnDesc, const int layer, miopenTensorDescriptor_t xDesc,
    const int biasID, miopenTensorDescriptor_t biasDesc, size_t *layerBiasOffset);

/* Copy one matrix (row-major, one row per output unit) or bias into w. */
MIOPEN_EXPORT miopenStatus_t miopenSetRNNLayerParam(
    miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int layer,
    miopenTensorDescriptor_t xDesc, miopenTensorDescriptor_t wDesc, void *w, const int paramID,
    miopenTensorDescriptor_t paramDesc, const void *layerParam);
MIOPEN_EXPORT miopenStatus_t
miopenSetRNNLayerBias(miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int layer,
                      miopenTensorDescriptor_t xDesc, miopenTensorDescriptor_t wDesc, void *w,
                      const int biasID, miopenTensorDescriptor_t biasDesc, const void *layerBias);

/* ---- RNN passes --------------------------------------------------------------------------- */

/* State pointers (hx, cx, hy, cy and their gradients) may be NULL: zeros going in, not wanted
 * coming out. Their descriptors {L * D, B, H} may not. The reserve space carries the training
 * pass to its backward passes, the workspace what backward data leaves to backward weights. Those
 * overwrite dw, and do not read y. */

/* On sequence tensors, with sequences of any lengths. */
MIOPEN_EXPORT miopenStatus_t miopenRNNForward(
    miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc, miopenRNNFWDMode_t fwdMode,
    const miopenSeqTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t hDesc,
    const void *hx, void *hy, const miopenTensorDescriptor_t cDesc, const void *cx, void *cy,
    const miopenSeqTensorDescriptor_t yDesc, void *y, const void *w, size_t weightSpaceSize,
    void *workSpace, size_t workSpaceNumBytes, void *reserveSpace, size_t reserveSpaceNumBytes);
MIOPEN_EXPORT miopenStatus_t miopenRNNBackwardSeqData(
    miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc,
    const miopenSeqTensorDescriptor_t yDesc, const void *y, const void *dy,
    const miopenTensorDescriptor_t hDesc, const void *hx, const void *dhy, void *dhx,
    const miopenTensorDescriptor_t cDesc, const void *cx, const void *dcy, void *dcx,
    const miopenSeqTensorDescriptor_t xDesc, void *dx, const void *w, size_t weightSpaceSize,
    void *workSpace, size_t workSpaceNumBytes, void *reserveSpace, size_t reserveSpaceNumBytes);
MIOPEN_EXPORT miopenStatus_t miopenRNNBackwardWeightsSeqTensor(
    miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc,
    const miopenSeqTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t hDesc,
    const void *hx, const miopenSeqTensorDescriptor_t yDesc, const void *y, void *dw,
    size_t weightSpaceSize, void *workSpace, size_t workSpaceNumBytes, const void *reserveSpace,
    size_t reserveSpaceNumBytes);

/* On arrays of one descriptor per step, {B, I} or {B, D * H}: rows lie next to each other, strides
 * and further dimensions are not read, nor are wDesc and dwDesc: w is as large as
 * miopenGetRNNParamsSize says. */
MIOPEN_EXPORT miopenStatus_t miopenRNNForwardTraining(
    miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc, const int sequenceLen,
    const miopenTensorDescriptor_t *xDesc, const void *x, const miopenTensorDescriptor_t hxDesc,
    const void *hx, const miopenTensorDescriptor_t cxDesc, const void *cx,
    const miopenTensorDescriptor_t wDesc, const void *w, const miopenTensorDescriptor_t *yDesc,
    void *y, const miopenTensorDescriptor_t hyDesc, void *hy, const miopenTensorDescriptor_t cyDesc,
    void *cy, void *workSpace, size_t workSpaceNumBytes, void *reserveSpace,
    size_t reserveSpaceNumBytes);
MIOPEN_EXPORT miopenStatus_t miopenRNNBackwardData(
    miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc, const int sequenceLen,
    const miopenTensorDescriptor_t *yDesc, const void *y, const miopenTensorDescriptor_t *dyDesc,
    const void *dy, const miopenTensorDescriptor_t dhyDesc, const void *dhy,
    const miopenTensorDescriptor_t dcyDesc, const void *dcy, const miopenTensorDescriptor_t wDesc,
    const void *w, const miopenTensorDescriptor_t hxDesc, const void *hx,
    const miopenTensorDescriptor_t cxDesc, const void *cx, const miopenTensorDescriptor_t *dxDesc,
    void *dx, const miopenTensorDescriptor_t dhxDesc, void *dhx,
    const miopenTensorDescriptor_t dcxDesc, void *dcx, void *workSpace, size_t workSpaceNumBytes,
    void *reserveSpace, size_t reserveSpaceNumBytes);
MIOPEN_EXPORT miopenStatus_t miopenRNNBackwardWeights(
    miopenHandle_t handle, const miopenRNNDescriptor_t rnnDesc, const int sequenceLen,
    const miopenTensorDescriptor_t *xDesc, const void *x, const miopenTensorDescriptor_t hxDesc,
    const void *hx, const miopenTensorDescriptor_t *yDesc, const void *y,
    const miopenTensorDescriptor_t dwDesc, void *dw, void *workSpace, size_t workSpaceNumBytes,
    const void *reserveSpace, size_t reserveSpaceNumBytes);
MIOPEN_EXPORT miopenStatus_t miopenRNNForwardInference(
    miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, const int sequenceLen,
    const miopenTensorDescriptor_t *xDesc, const void *x, const miopenTensorDescriptor_t hxDesc,
    const void *hx, const miopenTensorDescriptor_t cxDesc, const void *cx,
    const miopenTensorDescriptor_t wDesc, const void *w, const miopenTensorDescriptor_t *yDesc,
    void *y, const miopenTensorDescriptor_t hyDesc, void *hy, const miopenTensorDescriptor_t cyDesc,
    void *cy, void *workSpace, size_t workSpaceNumBytes);

#ifdef __cplusplus
}
#endif

#include <miopen/unimplemented.h>

#endif
