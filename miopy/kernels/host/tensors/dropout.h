/* Dropout on the host. A state is 24 bytes; a mask is one byte per element, 0 or 1. Types are the
 * numbers F32 to F64 of target.h. */
#include <stdint.h>

/* Fill the states that fit in nbytes with subsequences 0, 1, 2, ... of the seed. */
void initialize_dropout_states(void *states, int64_t nbytes, uint64_t seed);

/* Bytes of the states that the mask of so many elements is drawn from. */
int64_t dropout_states_nbytes(int64_t elements);

void draw_dropout_mask(void *mask, const void *states, int64_t elements, float dropout);

/* Let the states that a mask of so many elements was drawn from go on behind its last draw. */
void advance_dropout_states(void *states, int64_t elements);

/* y = mask ? x / (1 - dropout) : 0 over 1 to 5 dimensions, strides in elements. y may be x. */
void apply_dropout(int type, int dims, const int64_t *lengths, void *y, const int64_t *y_strides,
                   const void *x, const int64_t *x_strides, const void *mask, float dropout);
