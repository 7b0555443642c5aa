/* For programs that include it: names of statuses are in dnnl.h. */

#include "dnnl.h"
