/* storage.h: `storage`, `real` and the conversions between them, for the STORAGE at hand.
 * Included once per storage type; no include guard. */
#include "target.h"
#if !defined(__CUDACC__) && !defined(__HIPCC__)
#include "half.h"
#endif

#undef STORAGE_NAME
#undef storage
#undef real
#undef to_real
#undef to_storage

#if STORAGE == F32
#define STORAGE_NAME f32
#define storage float
#define real float
#define to_real(x) (x)
#define to_storage(x) (x)
#elif STORAGE == F16
#define STORAGE_NAME f16
#define storage uint16_t
#define real float
#define to_real(x) f32_of_f16(x)
#define to_storage(x) f16_of_f32(x)
#elif STORAGE == BF16
#define STORAGE_NAME bf16
#define storage uint16_t
#define real float
#define to_real(x) f32_of_bf16(x)
#define to_storage(x) bf16_of_f32(x)
#elif STORAGE == F64
#define STORAGE_NAME f64
#define storage double
#define real double
#define to_real(x) (x)
#define to_storage(x) (x)
#endif
