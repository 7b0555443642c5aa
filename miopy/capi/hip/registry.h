/* The pointers that programs may give back: what is alive, of which kind and how large. Looking one
 * up never follows it, so that a stale or foreign pointer is an error and not a crash. */

#ifndef MIOPY_HIP_REGISTRY_H
#define MIOPY_HIP_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

enum kind { DEVICE_MEMORY, HOST_MEMORY, STREAM, EVENT };

/* False if there is no memory for the record. */
bool registry_add(const void *pointer, enum kind kind, size_t nbytes);

/* False if no such pointer is alive. `nbytes` may be NULL. */
bool registry_find(const void *pointer, enum kind kind, size_t *nbytes);
bool registry_remove(const void *pointer, enum kind kind);

#endif
