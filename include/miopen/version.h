/* The MIOpen release whose API and answers these headers describe. */

#ifndef MIOPEN_VERSION_H
#define MIOPEN_VERSION_H

#define MIOPEN_VERSION_MAJOR 3
#define MIOPEN_VERSION_MINOR 5
#define MIOPEN_VERSION_PATCH 0

#endif
