/* The status of a call with a bad handle, and its message. */

#include <cudnn.h>
#include <stdint.h>
#include <stdio.h>

int main(void)
{
    char message[256];
    cudnnStatus_t status = cudnnDestroy((cudnnHandle_t)(uintptr_t)3);
    cudnnGetLastErrorString(message, sizeof message);
    printf("%s\n%s\n", cudnnGetErrorString(status), message);
    return 0;
}
