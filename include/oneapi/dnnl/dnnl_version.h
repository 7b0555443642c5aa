/* The oneDNN release whose API these headers describe. */

#ifndef ONEAPI_DNNL_DNNL_VERSION_H
#define ONEAPI_DNNL_DNNL_VERSION_H

#define DNNL_VERSION_MAJOR 3
#define DNNL_VERSION_MINOR 13
#define DNNL_VERSION_PATCH 2

#endif
