/* Which flavour of MIOpen's API this is: streams are HIP streams. */

#ifndef MIOPEN_CONFIG_H
#define MIOPEN_CONFIG_H

#define MIOPEN_BACKEND_HIP 1
#define MIOPEN_BACKEND_OPENCL 0

#endif
