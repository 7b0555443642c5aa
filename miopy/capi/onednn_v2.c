/* onednn_v2.c: what libdnnl of version 2 answers without Python. */
#include <onednn_v2/oneapi/dnnl/dnnl.h>
#include <onednn_v2/oneapi/dnnl/miopy.h>

#include "onednn.inc"
