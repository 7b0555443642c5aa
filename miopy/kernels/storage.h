/* storage.h: `storage`, `real` and the conversions between them, for the STORAGE at hand.
 * Included once per storage type; no include guard. */
#include "half.h"

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
#elif STORAGE == I32
#define STORAGE_NAME i32
#define storage int32_t
#elif STORAGE == I8
#define STORAGE_NAME i8
#define storage int8_t
#elif STORAGE == I64
#define STORAGE_NAME i64
#define storage int64_t
#endif
#if STORAGE > F64 /* integers wrap */
#define real uint64_t
#define to_real(x) ((uint64_t)(x))
#define to_storage(x) ((storage)(x))
#endif
