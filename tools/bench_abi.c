/* Seconds that calls of libMIOpen take, without the work behind them. As a program: those of its
 * first call, on standard output. */

#define _POSIX_C_SOURCE 200809L

#include <miopen/miopen.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static miopenHandle_t handle;
static miopenRNNDescriptor_t network;
static miopenTensorDescriptor_t tensor, tensors[50];

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void expect(int condition)
{
    if (!condition) {
        fprintf(stderr, "a call failed\n");
        exit(1);
    }
}

static void get_error_string(void) { expect(miopenGetErrorString(miopenStatusBadParm) != NULL); }

static void get_one_output(void)
{
    int size;
    expect(!miopenGetTensorDescriptorSize(tensor, &size));
}

static void get_three_outputs(void)
{
    miopenDataType_t type;
    int dims[3], strides[3];
    expect(!miopenGetTensorDescriptor(tensor, &type, dims, strides));
}

static void set_descriptor(void)
{
    int dims[3] = {2, 3, 4};
    expect(!miopenSetTensorDescriptor(tensor, miopenFloat, 3, dims, NULL));
}

static void create_and_destroy(void)
{
    miopenTensorDescriptor_t desc;
    expect(!miopenCreateTensorDescriptor(&desc) && !miopenDestroyTensorDescriptor(desc));
}

static void refuse(void) { expect(miopenEnableProfiling(NULL, true) == miopenStatusBadParm); }

/* A pass of so many steps; whoever loads this has taken the work out of it. */
static void pass(int steps)
{
    static float data[1];
    expect(!miopenRNNForwardTraining(handle, network, steps, tensors, data, tensor, data, tensor,
                                     data, tensor, data, tensors, data, tensor, data, tensor, data,
                                     data, 0, data, 0));
}

static void pass_one_step(void) { pass(1); }
static void pass_fifty_steps(void) { pass(50); }

static const struct {
    const char *name;
    void (*call)(void);
} costs[] = {
    {"GetErrorString", get_error_string},       {"getter, 1 output", get_one_output},
    {"getter, 3 outputs", get_three_outputs},   {"setter, 3 dims", set_descriptor},
    {"create and destroy", create_and_destroy}, {"refused, quietly", refuse},
    {"21 arguments, 1 step", pass_one_step},    {"21 arguments, 50 steps", pass_fifty_steps},
};

int num_costs(void);
const char *name_of_cost(int number);
double cost(int number, int calls);

int num_costs(void) { return sizeof costs / sizeof *costs; }
const char *name_of_cost(int number) { return costs[number].name; }

/* Microseconds per call, of the processor: what else the machine does is left out. */
double cost(int number, int calls)
{
    if (!handle) {
        expect(!miopenCreate(&handle) && !miopenCreateRNNDescriptor(&network) &&
               !miopenCreateTensorDescriptor(&tensor));
        for (int i = 0; i < 50; i++)
            tensors[i] = tensor;
        set_descriptor();
    }
    double start = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < calls; i++)
        costs[number].call();
    return (now(CLOCK_THREAD_CPUTIME_ID) - start) / calls * 1e6;
}

int main(void)
{
    double start = now(CLOCK_MONOTONIC);
    expect(!miopenCreate(&handle));
    printf("%f\n", now(CLOCK_MONOTONIC) - start);
    return 0;
}
