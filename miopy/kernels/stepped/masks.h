/* Bytes of the states that the mask of so many elements is drawn from. */
int64_t dropout_states_nbytes(int64_t elements);
