/* quantized_jobs.h: what each build of the kernels on 8-bit codes offers: jobs whose argument is
 * that of a launch. */
#ifndef MIOPY_QUANTIZED_JOBS_H
#define MIOPY_QUANTIZED_JOBS_H

#include "../pool/workers.h"

typedef void quantized_job(void *arguments, worker w);

typedef struct {
    quantized_job *multiply, *lstm, *gru_operand, *gru, *project;
} quantized_jobs;

extern const quantized_jobs quantized_avx512, quantized_avx2, quantized_base;

#endif
