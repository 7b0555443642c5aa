/* The status of a call with a bad handle, and its message; what is asked of it is 0. */

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/miopy.h>
#include <stdint.h>
#include <stdio.h>

int main(void)
{
    const_dnnl_memory_desc_t forged = (const_dnnl_memory_desc_t)(uintptr_t)3;
    dnnl_status_t status = dnnl_engine_destroy((dnnl_engine_t)(uintptr_t)3);
    printf("%s\n%s\n", dnnl_status2str(status), miopyGetLastError());
    printf("%zu bytes\n", dnnl_memory_desc_get_size(forged));
    return 0;
}
