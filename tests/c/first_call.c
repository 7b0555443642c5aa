/* Eight threads make the very first call at once. */

#define _POSIX_C_SOURCE 200809L

#include <miopen/miopen.h>
#include <pthread.h>

#include "check.h"

enum { NUM_THREADS = 8 };

static pthread_barrier_t all_here;
static miopenStatus_t statuses[NUM_THREADS];

static void *call(void *status)
{
    miopenHandle_t handle;
    pthread_barrier_wait(&all_here);
    *(miopenStatus_t *)status = miopenCreate(&handle);
    return NULL;
}

int main(void)
{
    pthread_t threads[NUM_THREADS];
    pthread_barrier_init(&all_here, NULL, NUM_THREADS);
    for (int i = 0; i < NUM_THREADS; i++)
        pthread_create(&threads[i], NULL, call, &statuses[i]);
    for (int i = 0; i < NUM_THREADS; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(miopenStatusSuccess, statuses[i]);
    }
    return exit_status();
}
