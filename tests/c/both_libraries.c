/* Eight threads make the first calls of two dialects' libraries at once, and each library keeps its
 * own last error for each thread. */

#define _POSIX_C_SOURCE 200809L

#include <cudnn.h>
#include <miopen/miopen.h>
#include <miopen/miopy.h>
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { NUM_THREADS = 8 };

static pthread_barrier_t barrier;

static void *call(void *argument)
{
    const int number = *(const int *)argument;
    miopenHandle_t miopen_handle;
    cudnnHandle_t cudnn_handle;
    char message[256];
    pthread_barrier_wait(&barrier);
    if (number % 2)
        EXPECT(miopenStatusSuccess, miopenCreate(&miopen_handle));
    EXPECT(CUDNN_STATUS_SUCCESS, cudnnCreate(&cudnn_handle));
    if (number % 2 == 0)
        EXPECT(miopenStatusSuccess, miopenCreate(&miopen_handle));

    EXPECT(CUDNN_STATUS_BAD_PARAM, cudnnDestroy((cudnnHandle_t)(void *)miopen_handle));
    cudnnGetLastErrorString(message, sizeof message);
    CHECK(strstr(message, "cudnnDestroy: `handle`"));
    CHECK(!*miopyGetLastError());
    EXPECT(miopenStatusBadParm, miopenDestroy((miopenHandle_t)(void *)cudnn_handle));
    CHECK(strstr(miopyGetLastError(), "miopenDestroy: `handle`"));
    cudnnGetLastErrorString(message, sizeof message);
    CHECK(strstr(message, "cudnnDestroy: `handle`"));

    EXPECT(miopenStatusSuccess, miopenDestroy(miopen_handle));
    EXPECT(CUDNN_STATUS_SUCCESS, cudnnDestroy(cudnn_handle));
    return NULL;
}

int main(void)
{
    pthread_t threads[NUM_THREADS];
    int numbers[NUM_THREADS];
    pthread_barrier_init(&barrier, NULL, NUM_THREADS);
    for (int i = 0; i < NUM_THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, call, &numbers[i]);
    }
    for (int i = 0; i < NUM_THREADS; i++)
        pthread_join(threads[i], NULL);
    return exit_status();
}
