/* The cuDNN release whose API these headers describe. */

#ifndef CUDNN_VERSION_H
#define CUDNN_VERSION_H

#define CUDNN_MAJOR 9
#define CUDNN_MINOR 19
#define CUDNN_PATCHLEVEL 0
#define CUDNN_VERSION (CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)

#endif
