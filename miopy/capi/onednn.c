/* onednn.c: what libdnnl of version 3 answers without Python. */
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/miopy.h>

#include "onednn.inc"
