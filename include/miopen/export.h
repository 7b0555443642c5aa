/* How the library's functions are declared. */

#ifndef MIOPEN_EXPORT_H
#define MIOPEN_EXPORT_H

#if defined(__GNUC__)
#define MIOPEN_EXPORT __attribute__((visibility("default")))
#else
#define MIOPEN_EXPORT
#endif

#endif
