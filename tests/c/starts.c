/* The statuses of two first calls, and the message of the last. */

#include <miopen/miopen.h>
#include <miopen/miopy.h>
#include <stdio.h>
#include <string.h>

static const char *status_name(miopenStatus_t status)
{
    return miopenGetErrorString(status) + strlen("miopenStatus");
}

int main(void)
{
    miopenHandle_t handle;
    miopenStatus_t created = miopenCreate(&handle), again = miopenCreate(&handle);
    printf("%s %s\n%s\n", status_name(created), status_name(again), miopyGetLastError());
    return 0;
}
