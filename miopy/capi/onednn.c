/* onednn.c: what libdnnl answers without Python. */
#include "start.h"
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/miopy.h>

const dnnl_version_t *dnnl_version(void)
{
    static const dnnl_version_t version = {
        DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH, "miopy",
        DNNL_CPU_RUNTIME,   DNNL_GPU_RUNTIME,
    };
    return &version;
}

const char *dnnl_status2str(dnnl_status_t v)
{
    const char *name = miopy_status_name((int)v);
    return name ? name + sizeof "dnnl" : "unknown status";
}

const char *miopyGetLastError(void) { return miopy_last_error(); }
