/* cudnn.c: what libcudnn_rnn answers without Python. */
#include "start.h"
#include <cudnn.h>
#include <stdio.h>

size_t cudnnGetVersion(void) { return CUDNN_VERSION; }

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    const char *name = miopy_status_name((int)status);
    return name ? name : "CUDNN_UNKNOWN_STATUS";
}

void cudnnGetLastErrorString(char *message, size_t max_size)
{
    if (message)
        snprintf(message, max_size, "%s", miopy_last_error());
}
