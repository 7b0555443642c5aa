/* HIP's host API, and the standard headers that programs expect HIP's own to bring along. There is
 * no device code here: nothing compiles or launches kernels. */

#ifndef HIP_HIP_RUNTIME_H
#define HIP_HIP_RUNTIME_H

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>
#endif

#include <hip/hip_runtime_api.h>

#endif
