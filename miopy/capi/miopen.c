/* miopen.c: what libMIOpen answers without Python. */
#include "start.h"
#include <miopen/miopen.h>
#include <miopen/miopy.h>
#include <miopen/version.h>

const char *miopenGetErrorString(miopenStatus_t error)
{
    const char *name = miopy_status_name((int)error);
    return name ? name : "Unknown error status";
}

miopenStatus_t miopenGetVersion(size_t *major, size_t *minor, size_t *patch)
{
    if (major)
        *major = MIOPEN_VERSION_MAJOR;
    if (minor)
        *minor = MIOPEN_VERSION_MINOR;
    if (patch)
        *patch = MIOPEN_VERSION_PATCH;
    return miopenStatusSuccess;
}

const char *miopyGetLastError(void) { return miopy_last_error(); }
