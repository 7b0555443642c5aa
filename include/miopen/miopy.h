/* What miopy's library offers beyond MIOpen's API. */

#ifndef MIOPEN_MIOPY_H
#define MIOPEN_MIOPY_H

#include <miopen/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was wrong with the calling thread's last call that failed, "" before any. Valid until the
 * thread's next failing call. */
MIOPEN_EXPORT const char *miopyGetLastError(void);

#ifdef __cplusplus
}
#endif

#endif
