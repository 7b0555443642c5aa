/* What kind of build this is, and how its functions are declared. */

#ifndef ONEDNN_V2_ONEAPI_DNNL_DNNL_CONFIG_H
#define ONEDNN_V2_ONEAPI_DNNL_DNNL_CONFIG_H

/* Values of the two macros below, and of the fields of dnnl_version_t. */
#define DNNL_RUNTIME_NONE 0u
#define DNNL_RUNTIME_SEQ 1u
#define DNNL_RUNTIME_OMP 2u
#define DNNL_RUNTIME_TBB 4u
#define DNNL_RUNTIME_THREADPOOL 8u
#define DNNL_RUNTIME_OCL 256u
#define DNNL_RUNTIME_SYCL 512u

/* Threads are miopy's own, so that programs need not link to any such runtime. */
#define DNNL_CPU_THREADING_RUNTIME DNNL_RUNTIME_SEQ
#define DNNL_CPU_RUNTIME DNNL_RUNTIME_SEQ
#define DNNL_GPU_RUNTIME DNNL_RUNTIME_NONE

#if defined(__GNUC__)
#define DNNL_EXPORT __attribute__((visibility("default")))
#else
#define DNNL_EXPORT
#endif

#endif
