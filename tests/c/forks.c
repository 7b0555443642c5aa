/* The process forks again and again while its threads are inside calls; every child calls, too. */

#define _POSIX_C_SOURCE 200809L

#include <miopen/miopen.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { NUM_THREADS = 3, NUM_CHILDREN = 50, SECONDS = 20 };

static volatile int stop;

static void *call_on(void *unused)
{
    while (!stop) {
        miopenTensorDescriptor_t desc;
        EXPECT(miopenStatusSuccess, miopenCreateTensorDescriptor(&desc));
        EXPECT(miopenStatusSuccess, miopenDestroyTensorDescriptor(desc));
    }
    return unused;
}

static int call_in_child(void)
{
    miopenHandle_t handle;
    alarm(SECONDS); /* a child that hangs dies, and is counted */
    EXPECT(miopenStatusSuccess, miopenCreate(&handle));
    EXPECT(miopenStatusSuccess, miopenDestroy(handle));
    return exit_status();
}

int main(void)
{
    pthread_t threads[NUM_THREADS];
    CHECK(call_in_child() == 0);
    alarm(0);
    for (int i = 0; i < NUM_THREADS; i++)
        pthread_create(&threads[i], NULL, call_on, NULL);
    for (int i = 0; i < NUM_CHILDREN && !num_failures; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(call_in_child());
        waitpid(child, &status, 0);
        CHECK(status == 0);
    }
    stop = 1;
    for (int i = 0; i < NUM_THREADS; i++)
        pthread_join(threads[i], NULL);
    return exit_status();
}
