/* What miopy's library offers beyond oneDNN's API. */

#ifndef ONEAPI_DNNL_MIOPY_H
#define ONEAPI_DNNL_MIOPY_H

#include <oneapi/dnnl/dnnl_config.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was wrong with the calling thread's last call that failed, "" before any. Valid until the
 * thread's next failing call. Of several libraries of miopy in a program, the one that was linked
 * first answers for its own calls. */
DNNL_EXPORT const char *miopyGetLastError(void);

#ifdef __cplusplus
}
#endif

#endif
