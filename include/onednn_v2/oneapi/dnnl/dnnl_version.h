/* The oneDNN release whose API these headers describe. */

#ifndef ONEDNN_V2_ONEAPI_DNNL_DNNL_VERSION_H
#define ONEDNN_V2_ONEAPI_DNNL_DNNL_VERSION_H

#define DNNL_VERSION_MAJOR 2
#define DNNL_VERSION_MINOR 6
#define DNNL_VERSION_PATCH 0

#endif
