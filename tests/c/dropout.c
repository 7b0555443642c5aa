/* Dropout by itself, and between the layers of a tanh network in training; what each reads and
 * writes is dumped. */

#include "client.h"

enum { ROWS = 6, COLUMNS = 50, STEPS = 3, BATCH = 4, HIDDEN = 16, LAYERS = 3 };

static const float rate = 0.25f;
static const unsigned long long seed = 0x123456789abcdef0ull;

struct states {
    void *data;
    size_t nbytes;
};

static void check_descriptor(miopenHandle_t handle, miopenDropoutDescriptor_t desc,
                             const struct states *states)
{
    float found_rate = 0;
    void *found_states = NULL;
    unsigned long long found_seed = 0;
    bool use_mask = true, state_evo = true;
    miopenRNGType_t rng_mode = (miopenRNGType_t)1;
    MUST(miopenGetDropoutDescriptor(desc, handle, &found_rate, &found_states, &found_seed,
                                    &use_mask, &state_evo, &rng_mode));
    CHECK(found_rate == rate && found_states == states->data && found_seed == seed);
    CHECK(!use_mask && !state_evo && rng_mode == MIOPEN_RNG_PSEUDO_XORWOW);
}

static void run_alone(miopenHandle_t handle, miopenDropoutDescriptor_t dropout)
{
    const size_t count = ROWS * COLUMNS, nbytes = count * sizeof(float);
    miopenTensorDescriptor_t desc = describe(ROWS, COLUMNS, 0);
    size_t mask_nbytes = 0;
    MUST(miopenDropoutGetReserveSpaceSize(desc, &mask_nbytes));
    CHECK(mask_nbytes == count);
    float *x = device_floats(count, 1), *y = device_zeros(nbytes);
    float *dy = device_floats(count, 1), *dx = device_zeros(nbytes);
    void *mask = device_zeros(mask_nbytes);
    MUST(miopenDropoutForward(handle, dropout, desc, desc, x, desc, y, mask, mask_nbytes));
    MUST(miopenDropoutBackward(handle, dropout, desc, desc, dy, desc, dx, mask, mask_nbytes));
    dump("x", x, nbytes);
    dump("dy", dy, nbytes);
    dump("y", y, nbytes);
    dump("dx", dx, nbytes);
    dump("mask", mask, mask_nbytes);
    MUST(hipFree(x));
    MUST(hipFree(y));
    MUST(hipFree(dx));
    MUST(hipFree(dy));
    MUST(hipFree(mask));
    MUST(miopenDestroyTensorDescriptor(desc));
}

static void run_between_layers(miopenHandle_t handle, miopenDropoutDescriptor_t dropout)
{
    const size_t count = STEPS * BATCH * HIDDEN, nbytes = count * sizeof(float);
    miopenTensorDescriptor_t step = describe(BATCH, HIDDEN, 0);
    miopenTensorDescriptor_t h_desc = describe(LAYERS, BATCH, HIDDEN);
    miopenTensorDescriptor_t descs[STEPS] = {step, step, step};
    miopenRNNDescriptor_t rnn =
        describe_rnn(HIDDEN, LAYERS, miopenRNNTANH, miopenRNNunidirection, dropout);
    size_t w_nbytes, work_nbytes, reserve_nbytes;
    MUST(miopenGetRNNParamsSize(handle, rnn, step, &w_nbytes, miopenFloat));
    MUST(miopenGetRNNWorkspaceSize(handle, rnn, STEPS, descs, &work_nbytes));
    MUST(miopenGetRNNTrainingReserveSize(handle, rnn, STEPS, descs, &reserve_nbytes));
    miopenTensorDescriptor_t w_desc = describe((int)(w_nbytes / sizeof(float)), 0, 0);
    float *x = device_floats(count, 1), *y = device_zeros(nbytes);
    float *w = device_floats(w_nbytes / sizeof(float), 0.5f);
    void *work = device_zeros(work_nbytes), *reserve = device_zeros(reserve_nbytes);
    MUST(miopenRNNForwardTraining(handle, rnn, STEPS, descs, x, h_desc, NULL, h_desc, NULL, w_desc,
                                  w, descs, y, h_desc, NULL, h_desc, NULL, work, work_nbytes,
                                  reserve, reserve_nbytes));
    dump("x", x, nbytes);
    dump("w", w, w_nbytes);
    dump("y", y, nbytes);
    MUST(hipFree(x));
    MUST(hipFree(y));
    MUST(hipFree(w));
    MUST(hipFree(work));
    MUST(hipFree(reserve));
    MUST(miopenDestroyTensorDescriptor(step));
    MUST(miopenDestroyTensorDescriptor(h_desc));
    MUST(miopenDestroyTensorDescriptor(w_desc));
    MUST(miopenDestroyRNNDescriptor(rnn));
}

int main(int argc, char **argv)
{
    miopenHandle_t handle;
    miopenDropoutDescriptor_t dropout, restored;
    struct states states;
    open_results(argc, argv);
    MUST(miopenCreate(&handle));
    MUST(miopenCreateDropoutDescriptor(&dropout));
    MUST(miopenCreateDropoutDescriptor(&restored));
    MUST(miopenDropoutGetStatesSize(handle, &states.nbytes));
    states.data = device_zeros(states.nbytes);
    MUST(miopenSetDropoutDescriptor(dropout, handle, rate, states.data, states.nbytes, seed, false,
                                    false, MIOPEN_RNG_PSEUDO_XORWOW));
    check_descriptor(handle, dropout, &states);
    dump("states", states.data, states.nbytes);
    run_alone(handle, dropout);
    MUST(miopenRestoreDropoutDescriptor(restored, handle, rate, states.data, states.nbytes, seed,
                                        false, false, MIOPEN_RNG_PSEUDO_XORWOW));
    check_descriptor(handle, restored, &states);
    run_between_layers(handle, restored);
    MUST(miopenDestroyDropoutDescriptor(dropout));
    MUST(miopenDestroyDropoutDescriptor(restored));
    MUST(miopenDestroy(handle));
    MUST(hipFree(states.data));
    return exit_status();
}
