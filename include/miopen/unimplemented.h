/* The rest of MIOpen's C API, declared so that programs which mention it compile, link and start.
 *
 * Every function here returns miopenStatusNotImplemented, whatever its arguments, and touches none
 * of them; so parameters have no names. Included by miopen.h, which declares all that works.
 */

#ifndef MIOPEN_UNIMPLEMENTED_H
#define MIOPEN_UNIMPLEMENTED_H

#include <stdint.h>

#include <miopen/miopen.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C99 knows neither unnamed unions nor enumerators above INT_MAX; MIOpen uses both. */
#if defined(__GNUC__)
#define MIOPEN_EXTENSION __extension__
#else
#define MIOPEN_EXTENSION
#endif

MIOPEN_DECLARE_OBJECT(miopenActivationDescriptor);
MIOPEN_DECLARE_OBJECT(miopenCTCLossDescriptor);
MIOPEN_DECLARE_OBJECT(miopenConvolutionDescriptor);
MIOPEN_DECLARE_OBJECT(miopenFindOptions);
MIOPEN_DECLARE_OBJECT(miopenFusionOpDescriptor);
MIOPEN_DECLARE_OBJECT(miopenFusionPlanDescriptor);
MIOPEN_DECLARE_OBJECT(miopenLRNDescriptor);
MIOPEN_DECLARE_OBJECT(miopenMhaDescriptor);
MIOPEN_DECLARE_OBJECT(miopenOperatorArgs);
MIOPEN_DECLARE_OBJECT(miopenOperatorDescriptor);
MIOPEN_DECLARE_OBJECT(miopenPoolingDescriptor);
MIOPEN_DECLARE_OBJECT(miopenProblem);
MIOPEN_DECLARE_OBJECT(miopenReduceTensorDescriptor);
MIOPEN_DECLARE_OBJECT(miopenSoftmaxDescriptor);
MIOPEN_DECLARE_OBJECT(miopenSolution);

/* ---- Convolutions ---------------------------------------------------------------------------- */

typedef enum {
    miopenConvolution = 0,
    miopenTranspose = 1,
    miopenGroupConv = 2,
    miopenDepthwise = 3
} miopenConvolutionMode_t;

typedef enum {
    miopenPaddingDefault = 0,
    miopenPaddingSame = 1,
    miopenPaddingValid = 2
} miopenPaddingMode_t;

typedef enum {
    MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL = 0,
    MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC = 1
} miopenConvolutionAttrib_t;

typedef enum {
    miopenConvolutionAlgoGEMM = 0,
    miopenConvolutionAlgoDirect = 1,
    miopenConvolutionAlgoFFT = 2,
    miopenConvolutionAlgoWinograd = 3,
    miopenConvolutionAlgoImplicitGEMM = 5
} miopenConvAlgorithm_t;

typedef enum {
    miopenConvolutionFwdAlgoGEMM = 0,
    miopenConvolutionFwdAlgoDirect = 1,
    miopenConvolutionFwdAlgoFFT = 2,
    miopenConvolutionFwdAlgoWinograd = 3,
    miopenConvolutionFwdAlgoImplicitGEMM = 5
} miopenConvFwdAlgorithm_t;

typedef enum {
    miopenConvolutionBwdWeightsAlgoGEMM = 0,
    miopenConvolutionBwdWeightsAlgoDirect = 1,
    miopenConvolutionBwdWeightsAlgoWinograd = 3,
    miopenConvolutionBwdWeightsAlgoImplicitGEMM = 5
} miopenConvBwdWeightsAlgorithm_t;

typedef enum {
    miopenConvolutionBwdDataAlgoGEMM = 0,
    miopenConvolutionBwdDataAlgoDirect = 1,
    miopenConvolutionBwdDataAlgoFFT = 2,
    miopenConvolutionBwdDataAlgoWinograd = 3,
    miopenTransposeBwdDataAlgoGEMM = 4,
    miopenConvolutionBwdDataAlgoImplicitGEMM = 5
} miopenConvBwdDataAlgorithm_t;

/* Which member of the union is meant follows from the function that fills it. */
typedef struct {
    MIOPEN_EXTENSION union {
        miopenConvFwdAlgorithm_t fwd_algo;
        miopenConvBwdWeightsAlgorithm_t bwd_weights_algo;
        miopenConvBwdDataAlgorithm_t bwd_data_algo;
    };
    float time;
    size_t memory;
} miopenConvAlgoPerf_t;

typedef struct {
    float time;
    size_t workspace_size;
    uint64_t solution_id;
    miopenConvAlgorithm_t algorithm;
} miopenConvSolution_t;

MIOPEN_EXPORT miopenStatus_t miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t *);
MIOPEN_EXPORT miopenStatus_t miopenInitConvolutionDescriptor(miopenConvolutionDescriptor_t,
                                                             miopenConvolutionMode_t, int, int, int,
                                                             int, int, int);
MIOPEN_EXPORT miopenStatus_t miopenInitConvolutionNdDescriptor(miopenConvolutionDescriptor_t, int,
                                                               const int *, const int *,
                                                               const int *,
                                                               miopenConvolutionMode_t);
MIOPEN_EXPORT miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t,
                                                           const miopenConvolutionAttrib_t, int);
MIOPEN_EXPORT miopenStatus_t miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t, int);
MIOPEN_EXPORT miopenStatus_t miopenSetTransposeConvNdOutputPadding(miopenConvolutionDescriptor_t,
                                                                   int, const int *);
MIOPEN_EXPORT miopenStatus_t miopenSetTransposeConvOutputPadding(miopenConvolutionDescriptor_t, int,
                                                                 int);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionAttribute(miopenConvolutionDescriptor_t,
                                                           const miopenConvolutionAttrib_t, int *);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionDescriptor(miopenConvolutionDescriptor_t,
                                                            miopenConvolutionMode_t *, int *, int *,
                                                            int *, int *, int *, int *);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionForwardOutputDim(miopenConvolutionDescriptor_t,
                                                                  const miopenTensorDescriptor_t,
                                                                  const miopenTensorDescriptor_t,
                                                                  int *, int *, int *, int *);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionGroupCount(miopenConvolutionDescriptor_t, int *);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionNdDescriptor(miopenConvolutionDescriptor_t, int,
                                                              int *, int *, int *, int *,
                                                              miopenConvolutionMode_t *);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionNdForwardOutputDim(miopenConvolutionDescriptor_t,
                                                                    const miopenTensorDescriptor_t,
                                                                    const miopenTensorDescriptor_t,
                                                                    int *, int *);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionSpatialDim(miopenConvolutionDescriptor_t, int *);
MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionBackwardDataAlgorithm(
    miopenHandle_t, const miopenTensorDescriptor_t, const void *, const miopenTensorDescriptor_t,
    const void *, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void *,
    const int, int *, miopenConvAlgoPerf_t *, void *, size_t, bool);
MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionBackwardWeightsAlgorithm(
    miopenHandle_t, const miopenTensorDescriptor_t, const void *, const miopenTensorDescriptor_t,
    const void *, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void *,
    const int, int *, miopenConvAlgoPerf_t *, void *, size_t, bool);
MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionForwardAlgorithm(
    miopenHandle_t, const miopenTensorDescriptor_t, const void *, const miopenTensorDescriptor_t,
    const void *, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void *,
    const int, int *, miopenConvAlgoPerf_t *, void *, size_t, bool);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardBias(miopenHandle_t, const void *,
                                                           const miopenTensorDescriptor_t,
                                                           const void *, const void *,
                                                           const miopenTensorDescriptor_t, void *);
MIOPEN_EXPORT miopenStatus_t
miopenConvolutionBackwardData(miopenHandle_t, const void *, const miopenTensorDescriptor_t,
                              const void *, const miopenTensorDescriptor_t, const void *,
                              const miopenConvolutionDescriptor_t, miopenConvBwdDataAlgorithm_t,
                              const void *, const miopenTensorDescriptor_t, void *, void *, size_t);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataCompileSolution(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetSolution(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const size_t, size_t *,
    miopenConvSolution_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetSolutionCount(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetSolutionWorkspaceSize(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetWorkSpaceSize(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataImmediate(
    miopenHandle_t, const miopenTensorDescriptor_t, const void *, const miopenTensorDescriptor_t,
    const void *, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void *,
    void *, size_t, const uint64_t);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeights(
    miopenHandle_t, const void *, const miopenTensorDescriptor_t, const void *,
    const miopenTensorDescriptor_t, const void *, const miopenConvolutionDescriptor_t,
    miopenConvBwdWeightsAlgorithm_t, const void *, const miopenTensorDescriptor_t, void *, void *,
    size_t);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsCompileSolution(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetSolution(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const size_t, size_t *,
    miopenConvSolution_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionCount(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetWorkSpaceSize(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsImmediate(
    miopenHandle_t, const miopenTensorDescriptor_t, const void *, const miopenTensorDescriptor_t,
    const void *, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void *,
    void *, size_t, const uint64_t);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBiasActivationForward(
    miopenHandle_t, const void *, const miopenTensorDescriptor_t, const void *,
    const miopenTensorDescriptor_t, const void *, const miopenConvolutionDescriptor_t,
    miopenConvFwdAlgorithm_t, void *, size_t, const void *, const miopenTensorDescriptor_t,
    const void *, const miopenTensorDescriptor_t, const void *, const miopenActivationDescriptor_t,
    const miopenTensorDescriptor_t, void *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForward(
    miopenHandle_t, const void *, const miopenTensorDescriptor_t, const void *,
    const miopenTensorDescriptor_t, const void *, const miopenConvolutionDescriptor_t,
    miopenConvFwdAlgorithm_t, const void *, const miopenTensorDescriptor_t, void *, void *, size_t);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardBias(miopenHandle_t, const void *,
                                                          const miopenTensorDescriptor_t,
                                                          const void *, const void *,
                                                          const miopenTensorDescriptor_t, void *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardCompileSolution(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolution(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const size_t, size_t *,
    miopenConvSolution_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolutionCount(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolutionWorkspaceSize(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, const uint64_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetWorkSpaceSize(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardImmediate(
    miopenHandle_t, const miopenTensorDescriptor_t, const void *, const miopenTensorDescriptor_t,
    const void *, const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t, void *,
    void *, size_t, const uint64_t);
MIOPEN_EXPORT miopenStatus_t miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t);

/* ---- Batch normalisation --------------------------------------------------------------------- */

typedef enum { miopenBNPerActivation = 0, miopenBNSpatial = 1 } miopenBatchNormMode_t;

MIOPEN_EXPORT miopenStatus_t miopenDeriveBNTensorDescriptor(miopenTensorDescriptor_t,
                                                            const miopenTensorDescriptor_t,
                                                            miopenBatchNormMode_t);
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationBackward(
    miopenHandle_t, miopenBatchNormMode_t, const void *, const void *, const void *, const void *,
    const miopenTensorDescriptor_t, const void *, const miopenTensorDescriptor_t, const void *,
    const miopenTensorDescriptor_t, void *, const miopenTensorDescriptor_t, const void *, void *,
    void *, double, const void *, const void *);
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationBackward_V2(
    miopenHandle_t, miopenBatchNormMode_t, const void *, const void *, const void *, const void *,
    const miopenTensorDescriptor_t, const void *, const miopenTensorDescriptor_t, const void *,
    const miopenTensorDescriptor_t, void *, const miopenTensorDescriptor_t,
    const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    const void *, void *, void *, double, const void *, const void *);
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationForwardInference(
    miopenHandle_t, miopenBatchNormMode_t, void *, void *, const miopenTensorDescriptor_t,
    const void *, const miopenTensorDescriptor_t, void *, const miopenTensorDescriptor_t, void *,
    void *, void *, void *, double);
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationForwardInference_V2(
    miopenHandle_t, miopenBatchNormMode_t, void *, void *, const miopenTensorDescriptor_t,
    const void *, const miopenTensorDescriptor_t, void *, const miopenTensorDescriptor_t,
    const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    void *, void *, void *, void *, double);
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationForwardTraining(
    miopenHandle_t, miopenBatchNormMode_t, void *, void *, const miopenTensorDescriptor_t,
    const void *, const miopenTensorDescriptor_t, void *, const miopenTensorDescriptor_t, void *,
    void *, double, void *, void *, double, void *, void *);
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationForwardTraining_V2(
    miopenHandle_t, miopenBatchNormMode_t, void *, void *, const miopenTensorDescriptor_t,
    const void *, const miopenTensorDescriptor_t, void *, const miopenTensorDescriptor_t,
    const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t,
    void *, void *, double, void *, void *, double, void *, void *);

/* ---- Pooling --------------------------------------------------------------------------------- */

typedef enum {
    miopenPoolingMax = 0,
    miopenPoolingAverage = 1,
    miopenPoolingAverageInclusive = 2
} miopenPoolingMode_t;

typedef enum {
    miopenPoolingWorkspaceIndexMask = 0,
    miopenPoolingWorkspaceIndexImage = 1
} miopenPoolingWorkspaceIndexMode_t;

typedef enum {
    miopenIndexUint8 = 0,
    miopenIndexUint16 = 1,
    miopenIndexUint32 = 2,
    miopenIndexUint64 = 3
} miopenIndexType_t;

MIOPEN_EXPORT miopenStatus_t miopenCreatePoolingDescriptor(miopenPoolingDescriptor_t *);
MIOPEN_EXPORT miopenStatus_t miopenSet2dPoolingDescriptor(miopenPoolingDescriptor_t,
                                                          miopenPoolingMode_t, int, int, int, int,
                                                          int, int);
MIOPEN_EXPORT miopenStatus_t miopenSetNdPoolingDescriptor(miopenPoolingDescriptor_t,
                                                          const miopenPoolingMode_t, int,
                                                          const int *, const int *, const int *);
MIOPEN_EXPORT miopenStatus_t miopenSetPoolingIndexType(miopenPoolingDescriptor_t,
                                                       miopenIndexType_t);
MIOPEN_EXPORT miopenStatus_t miopenSetPoolingWorkSpaceIndexMode(miopenPoolingDescriptor_t,
                                                                miopenPoolingWorkspaceIndexMode_t);
MIOPEN_EXPORT miopenStatus_t miopenGet2dPoolingDescriptor(const miopenPoolingDescriptor_t,
                                                          miopenPoolingMode_t *, int *, int *,
                                                          int *, int *, int *, int *);
MIOPEN_EXPORT miopenStatus_t miopenGetNdPoolingDescriptor(const miopenPoolingDescriptor_t, int,
                                                          miopenPoolingMode_t *, int *, int *,
                                                          int *, int *);
MIOPEN_EXPORT miopenStatus_t miopenGetPoolingForwardOutputDim(const miopenPoolingDescriptor_t,
                                                              const miopenTensorDescriptor_t, int *,
                                                              int *, int *, int *);
MIOPEN_EXPORT miopenStatus_t miopenGetPoolingIndexType(miopenPoolingDescriptor_t,
                                                       miopenIndexType_t *);
MIOPEN_EXPORT miopenStatus_t miopenGetPoolingNdForwardOutputDim(const miopenPoolingDescriptor_t,
                                                                const miopenTensorDescriptor_t, int,
                                                                int *);
MIOPEN_EXPORT miopenStatus_t
miopenGetPoolingWorkSpaceIndexMode(miopenPoolingDescriptor_t, miopenPoolingWorkspaceIndexMode_t *);
MIOPEN_EXPORT miopenStatus_t miopenPoolingBackward(miopenHandle_t, const miopenPoolingDescriptor_t,
                                                   const void *, const miopenTensorDescriptor_t,
                                                   const void *, const miopenTensorDescriptor_t,
                                                   const void *, const miopenTensorDescriptor_t,
                                                   const void *, const void *,
                                                   const miopenTensorDescriptor_t, void *, void *);
MIOPEN_EXPORT miopenStatus_t miopenPoolingForward(miopenHandle_t, const miopenPoolingDescriptor_t,
                                                  const void *, const miopenTensorDescriptor_t,
                                                  const void *, const void *,
                                                  const miopenTensorDescriptor_t, void *, bool,
                                                  void *, size_t);
MIOPEN_EXPORT miopenStatus_t miopenPoolingGetWorkSpaceSize(const miopenTensorDescriptor_t,
                                                           size_t *);
MIOPEN_EXPORT miopenStatus_t miopenPoolingGetWorkSpaceSizeV2(const miopenPoolingDescriptor_t,
                                                             const miopenTensorDescriptor_t,
                                                             size_t *);
MIOPEN_EXPORT miopenStatus_t miopenDestroyPoolingDescriptor(miopenPoolingDescriptor_t);

/* ---- Activations ----------------------------------------------------------------------------- */

typedef enum {
    miopenActivationPASTHRU = 0,
    miopenActivationLOGISTIC = 1,
    miopenActivationTANH = 2,
    miopenActivationRELU = 3,
    miopenActivationSOFTRELU = 4,
    miopenActivationABS = 5,
    miopenActivationPOWER = 6,
    miopenActivationCLIPPEDRELU = 7,
    miopenActivationLEAKYRELU = 8,
    miopenActivationELU = 9
} miopenActivationMode_t;

MIOPEN_EXPORT miopenStatus_t miopenCreateActivationDescriptor(miopenActivationDescriptor_t *);
MIOPEN_EXPORT miopenStatus_t miopenSetActivationDescriptor(const miopenActivationDescriptor_t,
                                                           miopenActivationMode_t, double, double,
                                                           double);
MIOPEN_EXPORT miopenStatus_t miopenGetActivationDescriptor(const miopenActivationDescriptor_t,
                                                           miopenActivationMode_t *, double *,
                                                           double *, double *);
MIOPEN_EXPORT miopenStatus_t miopenActivationBackward(miopenHandle_t,
                                                      const miopenActivationDescriptor_t,
                                                      const void *, const miopenTensorDescriptor_t,
                                                      const void *, const miopenTensorDescriptor_t,
                                                      const void *, const miopenTensorDescriptor_t,
                                                      const void *, const void *,
                                                      const miopenTensorDescriptor_t, void *);
MIOPEN_EXPORT miopenStatus_t miopenActivationForward(miopenHandle_t,
                                                     const miopenActivationDescriptor_t,
                                                     const void *, const miopenTensorDescriptor_t,
                                                     const void *, const void *,
                                                     const miopenTensorDescriptor_t, void *);
MIOPEN_EXPORT miopenStatus_t miopenDestroyActivationDescriptor(miopenActivationDescriptor_t);

/* ---- Softmax --------------------------------------------------------------------------------- */

typedef enum {
    MIOPEN_SOFTMAX_FAST = 0,
    MIOPEN_SOFTMAX_ACCURATE = 1,
    MIOPEN_SOFTMAX_LOG = 2
} miopenSoftmaxAlgorithm_t;

typedef enum {
    MIOPEN_SOFTMAX_MODE_INSTANCE = 0,
    MIOPEN_SOFTMAX_MODE_CHANNEL = 1
} miopenSoftmaxMode_t;

MIOPEN_EXPORT miopenStatus_t miopenCreateSoftmaxDescriptor(miopenSoftmaxDescriptor_t *);
MIOPEN_EXPORT miopenStatus_t miopenSetSoftmaxDescriptor(miopenSoftmaxDescriptor_t, float, float,
                                                        miopenSoftmaxAlgorithm_t,
                                                        miopenSoftmaxMode_t);
MIOPEN_EXPORT miopenStatus_t miopenGetSoftmaxDescriptor(const miopenSoftmaxDescriptor_t, float *,
                                                        float *, miopenSoftmaxAlgorithm_t *,
                                                        miopenSoftmaxMode_t *);
MIOPEN_EXPORT miopenStatus_t miopenSoftmaxBackward(miopenHandle_t, const void *,
                                                   const miopenTensorDescriptor_t, const void *,
                                                   const miopenTensorDescriptor_t, const void *,
                                                   const void *, const miopenTensorDescriptor_t,
                                                   void *);
MIOPEN_EXPORT miopenStatus_t miopenSoftmaxBackward_V2(miopenHandle_t, const void *,
                                                      const miopenTensorDescriptor_t, const void *,
                                                      const miopenTensorDescriptor_t, const void *,
                                                      const void *, const miopenTensorDescriptor_t,
                                                      void *, miopenSoftmaxAlgorithm_t,
                                                      miopenSoftmaxMode_t);
MIOPEN_EXPORT miopenStatus_t miopenSoftmaxForward(miopenHandle_t, const void *,
                                                  const miopenTensorDescriptor_t, const void *,
                                                  const void *, const miopenTensorDescriptor_t,
                                                  void *);
MIOPEN_EXPORT miopenStatus_t miopenSoftmaxForward_V2(miopenHandle_t, const void *,
                                                     const miopenTensorDescriptor_t, const void *,
                                                     const void *, const miopenTensorDescriptor_t,
                                                     void *, miopenSoftmaxAlgorithm_t,
                                                     miopenSoftmaxMode_t);

/* ---- Local response normalisation ------------------------------------------------------------ */

typedef enum { miopenLRNWithinChannel = 0, miopenLRNCrossChannel = 1 } miopenLRNMode_t;

MIOPEN_EXPORT miopenStatus_t miopenCreateLRNDescriptor(miopenLRNDescriptor_t *);
MIOPEN_EXPORT miopenStatus_t miopenSetLRNDescriptor(const miopenLRNDescriptor_t, miopenLRNMode_t,
                                                    unsigned int, double, double, double);
MIOPEN_EXPORT miopenStatus_t miopenGetLRNDescriptor(const miopenLRNDescriptor_t, miopenLRNMode_t *,
                                                    unsigned int *, double *, double *, double *);
MIOPEN_EXPORT miopenStatus_t miopenLRNBackward(
    miopenHandle_t, const miopenLRNDescriptor_t, const void *, const miopenTensorDescriptor_t,
    const void *, const miopenTensorDescriptor_t, const void *, const miopenTensorDescriptor_t,
    const void *, const void *, const miopenTensorDescriptor_t, void *, const void *);
MIOPEN_EXPORT miopenStatus_t miopenLRNForward(miopenHandle_t, const miopenLRNDescriptor_t,
                                              const void *, const miopenTensorDescriptor_t,
                                              const void *, const void *,
                                              const miopenTensorDescriptor_t, void *, bool, void *);
MIOPEN_EXPORT miopenStatus_t miopenLRNGetWorkSpaceSize(const miopenTensorDescriptor_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenDestroyLRNDescriptor(miopenLRNDescriptor_t);

/* ---- Reductions ------------------------------------------------------------------------------ */

typedef enum {
    MIOPEN_REDUCE_TENSOR_ADD = 0,
    MIOPEN_REDUCE_TENSOR_MUL = 1,
    MIOPEN_REDUCE_TENSOR_MIN = 2,
    MIOPEN_REDUCE_TENSOR_MAX = 3,
    MIOPEN_REDUCE_TENSOR_AMAX = 4,
    MIOPEN_REDUCE_TENSOR_AVG = 5,
    MIOPEN_REDUCE_TENSOR_NORM1 = 6,
    MIOPEN_REDUCE_TENSOR_NORM2 = 7
} miopenReduceTensorOp_t;

typedef enum { MIOPEN_NOT_PROPAGATE_NAN = 0, MIOPEN_PROPAGATE_NAN = 1 } miopenNanPropagation_t;

typedef enum {
    MIOPEN_REDUCE_TENSOR_NO_INDICES = 0,
    MIOPEN_REDUCE_TENSOR_FLATTENED_INDICES = 1
} miopenReduceTensorIndices_t;

typedef enum {
    MIOPEN_32BIT_INDICES = 0,
    MIOPEN_64BIT_INDICES = 1,
    MIOPEN_16BIT_INDICES = 2,
    MIOPEN_8BIT_INDICES = 3
} miopenIndicesType_t;

MIOPEN_EXPORT miopenStatus_t miopenCreateReduceTensorDescriptor(miopenReduceTensorDescriptor_t *);
MIOPEN_EXPORT miopenStatus_t miopenSetReduceTensorDescriptor(
    miopenReduceTensorDescriptor_t, miopenReduceTensorOp_t, miopenDataType_t,
    miopenNanPropagation_t, miopenReduceTensorIndices_t, miopenIndicesType_t);
MIOPEN_EXPORT miopenStatus_t miopenGetReduceTensorDescriptor(
    const miopenReduceTensorDescriptor_t, miopenReduceTensorOp_t *, miopenDataType_t *,
    miopenNanPropagation_t *, miopenReduceTensorIndices_t *, miopenIndicesType_t *);
MIOPEN_EXPORT miopenStatus_t miopenGetReductionIndicesSize(miopenHandle_t,
                                                           const miopenReduceTensorDescriptor_t,
                                                           const miopenTensorDescriptor_t,
                                                           const miopenTensorDescriptor_t,
                                                           size_t *);
MIOPEN_EXPORT miopenStatus_t miopenGetReductionWorkspaceSize(miopenHandle_t,
                                                             const miopenReduceTensorDescriptor_t,
                                                             const miopenTensorDescriptor_t,
                                                             const miopenTensorDescriptor_t,
                                                             size_t *);
MIOPEN_EXPORT miopenStatus_t miopenReduceTensor(miopenHandle_t,
                                                const miopenReduceTensorDescriptor_t, void *,
                                                size_t, void *, size_t, const void *,
                                                const miopenTensorDescriptor_t, const void *,
                                                const void *, const miopenTensorDescriptor_t,
                                                void *);
MIOPEN_EXPORT miopenStatus_t miopenDestroyReduceTensorDescriptor(miopenReduceTensorDescriptor_t);

/* ---- CTC loss -------------------------------------------------------------------------------- */

typedef enum { MIOPEN_CTC_LOSS_ALGO_DETERMINISTIC = 0 } miopenCTCLossAlgo_t;

MIOPEN_EXPORT miopenStatus_t miopenCreateCTCLossDescriptor(miopenCTCLossDescriptor_t *);
MIOPEN_EXPORT miopenStatus_t miopenSetCTCLossDescriptor(miopenCTCLossDescriptor_t, miopenDataType_t,
                                                        const int, bool);
MIOPEN_EXPORT miopenStatus_t miopenGetCTCLossDescriptor(miopenCTCLossDescriptor_t,
                                                        miopenDataType_t *, int *, bool *);
MIOPEN_EXPORT miopenStatus_t miopenGetCTCLossWorkspaceSize(
    miopenHandle_t, const miopenTensorDescriptor_t, const miopenTensorDescriptor_t, const int *,
    const int *, const int *, miopenCTCLossAlgo_t, const miopenCTCLossDescriptor_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenCTCLoss(miopenHandle_t, const miopenTensorDescriptor_t,
                                           const void *, const int *, const int *, const int *,
                                           void *, const miopenTensorDescriptor_t, void *,
                                           miopenCTCLossAlgo_t, const miopenCTCLossDescriptor_t,
                                           void *, size_t);
MIOPEN_EXPORT miopenStatus_t miopenDestroyCTCLossDescriptor(miopenCTCLossDescriptor_t);

/* ---- Attention ------------------------------------------------------------------------------- */

typedef enum { miopenMhaMaskNone = 0, miopenMhaMaskCausal = 1 } miopenMhaMask_t;

MIOPEN_EXPORT miopenStatus_t miopenCreateMhaDescriptor(miopenMhaDescriptor_t *);
MIOPEN_EXPORT miopenStatus_t miopenSetMhaDescriptor(miopenMhaDescriptor_t, float);
MIOPEN_EXPORT miopenStatus_t miopenGetMhaDescriptor(miopenMhaDescriptor_t, float *);

/* ---- Fusion ---------------------------------------------------------------------------------- */

typedef enum { miopenVerticalFusion = 0, miopenHorizontalFusion = 1 } miopenFusionDirection_t;

MIOPEN_EXPORT miopenStatus_t miopenCreateFusionPlan(miopenFusionPlanDescriptor_t *,
                                                    const miopenFusionDirection_t,
                                                    const miopenTensorDescriptor_t);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpActivationBackward(miopenFusionPlanDescriptor_t,
                                                              miopenFusionOpDescriptor_t *,
                                                              miopenActivationMode_t);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpActivationForward(miopenFusionPlanDescriptor_t,
                                                             miopenFusionOpDescriptor_t *,
                                                             miopenActivationMode_t);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpBatchNormBackward(miopenFusionPlanDescriptor_t,
                                                             miopenFusionOpDescriptor_t *,
                                                             const miopenBatchNormMode_t);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpBatchNormForward(miopenFusionPlanDescriptor_t,
                                                            miopenFusionOpDescriptor_t *,
                                                            const miopenBatchNormMode_t, bool);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpBatchNormInference(miopenFusionPlanDescriptor_t,
                                                              miopenFusionOpDescriptor_t *,
                                                              const miopenBatchNormMode_t,
                                                              const miopenTensorDescriptor_t);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpBiasForward(miopenFusionPlanDescriptor_t,
                                                       miopenFusionOpDescriptor_t *,
                                                       const miopenTensorDescriptor_t);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpConvForward(miopenFusionPlanDescriptor_t,
                                                       miopenFusionOpDescriptor_t *,
                                                       miopenConvolutionDescriptor_t,
                                                       const miopenTensorDescriptor_t);
MIOPEN_EXPORT miopenStatus_t miopenCreateOperatorArgs(miopenOperatorArgs_t *);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsActivBackward(miopenOperatorArgs_t,
                                                          const miopenFusionOpDescriptor_t,
                                                          const void *, const void *, const void *,
                                                          const void *, double, double, double);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsActivForward(miopenOperatorArgs_t,
                                                         const miopenFusionOpDescriptor_t,
                                                         const void *, const void *, double, double,
                                                         double);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsBatchNormBackward(
    miopenOperatorArgs_t, const miopenFusionOpDescriptor_t, const void *, const void *,
    const void *, const void *, const void *, void *, void *, const void *, const void *);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsBatchNormForward(
    miopenOperatorArgs_t, const miopenFusionOpDescriptor_t, const void *, const void *,
    const void *, const void *, void *, void *, void *, void *, double, double);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsBatchNormInference(miopenOperatorArgs_t,
                                                               const miopenFusionOpDescriptor_t,
                                                               const void *, const void *,
                                                               const void *, const void *,
                                                               const void *, const void *, double);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsBiasForward(miopenOperatorArgs_t,
                                                        const miopenFusionOpDescriptor_t,
                                                        const void *, const void *, const void *);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsConvForward(miopenOperatorArgs_t,
                                                        const miopenFusionOpDescriptor_t,
                                                        const void *, const void *, const void *);
MIOPEN_EXPORT miopenStatus_t miopenCompileFusionPlan(miopenHandle_t, miopenFusionPlanDescriptor_t);
MIOPEN_EXPORT miopenStatus_t miopenFusionPlanConvolutionGetAlgo(miopenFusionPlanDescriptor_t,
                                                                const int, int *,
                                                                miopenConvFwdAlgorithm_t *);
MIOPEN_EXPORT miopenStatus_t miopenFusionPlanConvolutionSetAlgo(miopenFusionPlanDescriptor_t,
                                                                miopenConvFwdAlgorithm_t);
MIOPEN_EXPORT miopenStatus_t miopenFusionPlanGetOp(miopenFusionPlanDescriptor_t, const int,
                                                   miopenFusionOpDescriptor_t *);
MIOPEN_EXPORT miopenStatus_t miopenFusionPlanGetWorkSpaceSize(miopenHandle_t,
                                                              miopenFusionPlanDescriptor_t,
                                                              size_t *, miopenConvFwdAlgorithm_t);
MIOPEN_EXPORT miopenStatus_t miopenExecuteFusionPlan(const miopenHandle_t,
                                                     const miopenFusionPlanDescriptor_t,
                                                     const miopenTensorDescriptor_t, const void *,
                                                     const miopenTensorDescriptor_t, void *,
                                                     miopenOperatorArgs_t);
MIOPEN_EXPORT miopenStatus_t miopenDestroyFusionPlan(miopenFusionPlanDescriptor_t);
MIOPEN_EXPORT miopenStatus_t miopenDestroyOperatorArgs(miopenOperatorArgs_t);

/* ---- Problems and solutions ------------------------------------------------------------------ */

typedef enum {
    miopenProblemDirectionForward = 0,
    miopenProblemDirectionBackward = 1,
    miopenProblemDirectionBackwardWeights = 2
} miopenProblemDirection_t;

typedef enum {
    miopenFindResultsOrderByTime = 0,
    miopenFindResultsOrderByWorkspaceSize = 1
} miopenFindResultsOrder_t;

MIOPEN_EXTENSION typedef enum {
    miopenTensorArgumentIdInvalid = 0,
    miopenTensorConvolutionX = 1,
    miopenTensorConvolutionW = 2,
    miopenTensorConvolutionY = 3,
    miopenTensorMhaK = 4,
    miopenTensorMhaQ = 5,
    miopenTensorMhaV = 6,
    miopenTensorMhaDescaleK = 7,
    miopenTensorMhaDescaleQ = 8,
    miopenTensorMhaDescaleV = 9,
    miopenTensorMhaDescaleS = 10,
    miopenTensorMhaScaleS = 11,
    miopenTensorMhaScaleO = 12,
    miopenTensorMhaDropoutProbability = 13,
    miopenTensorMhaDropoutSeed = 14,
    miopenTensorMhaDropoutOffset = 15,
    miopenTensorMhaO = 16,
    miopenTensorMhaAmaxO = 17,
    miopenTensorMhaAmaxS = 18,
    miopenTensorMhaM = 19,
    miopenTensorMhaZInv = 20,
    miopenTensorMhaDO = 21,
    miopenTensorMhaDescaleO = 22,
    miopenTensorMhaDescaleDO = 23,
    miopenTensorMhaDescaleDS = 24,
    miopenTensorMhaScaleDS = 25,
    miopenTensorMhaScaleDQ = 26,
    miopenTensorMhaScaleDK = 27,
    miopenTensorMhaScaleDV = 28,
    miopenTensorMhaDQ = 29,
    miopenTensorMhaDK = 30,
    miopenTensorMhaDV = 31,
    miopenTensorMhaAmaxDQ = 32,
    miopenTensorMhaAmaxDK = 33,
    miopenTensorMhaAmaxDV = 34,
    miopenTensorMhaAmaxDS = 35,
    miopenTensorMhaBias = 36,
    miopenTensorArgumentIsScalar = 0x80000000u,
    miopenTensorMhaMask = 0x80000001u
} miopenTensorArgumentId_t;

typedef struct miopenTensorArgument_t {
    miopenTensorArgumentId_t id;
    miopenTensorDescriptor_t *descriptor;
    void *buffer;
} miopenTensorArgument_t;

MIOPEN_EXPORT miopenStatus_t miopenCreateConvProblem(miopenProblem_t *,
                                                     miopenConvolutionDescriptor_t,
                                                     miopenProblemDirection_t);
MIOPEN_EXPORT miopenStatus_t miopenCreateFindOptions(miopenFindOptions_t *);
MIOPEN_EXPORT miopenStatus_t miopenCreateMhaProblem(miopenProblem_t *, miopenMhaDescriptor_t,
                                                    miopenProblemDirection_t);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionAttachBinaries(miopenFindOptions_t, unsigned);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionPreallocatedTensor(miopenFindOptions_t,
                                                                   miopenTensorArgumentId_t,
                                                                   void *);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionPreallocatedWorkspace(miopenFindOptions_t, void *,
                                                                      size_t);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionResultsOrder(miopenFindOptions_t,
                                                             miopenFindResultsOrder_t);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionTuning(miopenFindOptions_t, int);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionWorkspaceLimit(miopenFindOptions_t, size_t);
MIOPEN_EXPORT miopenStatus_t miopenSetProblemTensorDescriptor(miopenProblem_t,
                                                              miopenTensorArgumentId_t,
                                                              const miopenTensorDescriptor_t);
MIOPEN_EXPORT miopenStatus_t miopenGetSolutionSize(miopenSolution_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenGetSolutionSolverId(miopenSolution_t, uint64_t *);
MIOPEN_EXPORT miopenStatus_t miopenGetSolutionTime(miopenSolution_t, float *);
MIOPEN_EXPORT miopenStatus_t miopenGetSolutionWorkspaceSize(miopenSolution_t, size_t *);
MIOPEN_EXPORT miopenStatus_t miopenGetSolverIdConvAlgorithm(uint64_t, miopenConvAlgorithm_t *);
MIOPEN_EXPORT miopenStatus_t miopenFindSolutions(miopenHandle_t, miopenProblem_t,
                                                 miopenFindOptions_t, miopenSolution_t *, size_t *,
                                                 size_t);
MIOPEN_EXPORT miopenStatus_t miopenLoadSolution(miopenSolution_t *, const char *, size_t);
MIOPEN_EXPORT miopenStatus_t miopenSaveSolution(miopenSolution_t, char *);
MIOPEN_EXPORT miopenStatus_t miopenRunSolution(miopenHandle_t, miopenSolution_t, size_t,
                                               const miopenTensorArgument_t *, void *, size_t);
MIOPEN_EXPORT miopenStatus_t miopenDestroyFindOptions(miopenFindOptions_t);
MIOPEN_EXPORT miopenStatus_t miopenDestroyProblem(miopenProblem_t);
MIOPEN_EXPORT miopenStatus_t miopenDestroySolution(miopenSolution_t);

#undef MIOPEN_EXTENSION

#ifdef __cplusplus
}
#endif

#endif
