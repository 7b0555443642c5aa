#ifndef MIOPY_HOST_QUANTIZED_H
#define MIOPY_HOST_QUANTIZED_H
#include "../pool/pool.h"

/* Kernels of kernels/quantized.h for a pool, to be launched on it: copy_codes, copy_weights,
 * sum_codes, multiply_codes, quantized_lstm, quantized_gru_operand, quantized_gru,
 * quantized_project and join_codes, by number in this order. */
void *quantized_function(const pool *p, int number);

/* The address of a launch_function for them, whose stream is their pool. */
void *quantized_launch(void);
#endif
