/* What the host must know of the masks that xorwow.c draws on a device. */
#include "../xorwow.c"

#include "masks.h"

int64_t dropout_states_nbytes(int64_t elements)
{
    return states_used(elements) * (int64_t)sizeof(xorwow_state);
}
