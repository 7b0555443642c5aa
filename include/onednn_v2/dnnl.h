/* The older place of oneDNN's header. */

#include "oneapi/dnnl/dnnl.h"
