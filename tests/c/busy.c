/* Calls without end, to be interrupted. */

#include <miopen/miopen.h>
#include <stdio.h>

int main(void)
{
    miopenHandle_t handle;
    if (miopenCreate(&handle))
        return 1;
    puts("calling");
    fflush(stdout);
    for (;;)
        miopenEnableProfiling(handle, false);
}
