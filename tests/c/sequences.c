/* The functions of sequence tensors: a bidirectional GRU over sequences of different lengths, in
 * each of the three layouts, forward and backward. Dumps what goes in and what comes out. */

#include "client.h"

enum { STEPS = 4, BATCH = 3, INPUT = 5, HIDDEN = 6, LAYERS = 2, DIRECTIONS = 2 };

static const int lengths[BATCH] = {4, 2, 1}; /* descending, as the packed layout wants them */

static const size_t h_nbytes = LAYERS * DIRECTIONS * BATCH * HIDDEN * sizeof(float);

struct tensors {
    miopenSeqTensorDescriptor_t x_desc, y_desc;
    miopenTensorDescriptor_t h_desc;
    size_t rows, x_nbytes, y_nbytes;
    float *x, *y, *dx, *dy, *hx, *hy, *dhx, *dhy;
};

static miopenSeqTensorDescriptor_t describe_sequence(miopenRNNBaseLayout_t layout, int vector_size)
{
    miopenSeqTensorDescriptor_t desc;
    float marker = 0;
    MUST(miopenCreateSeqTensorDescriptor(&desc));
    MUST(miopenSetRNNDataSeqTensorDescriptor(desc, miopenFloat, layout, STEPS, BATCH, vector_size,
                                             lengths, &marker));
    return desc;
}

static void check_sequence(miopenSeqTensorDescriptor_t desc, miopenRNNBaseLayout_t expected)
{
    miopenDataType_t data_type;
    miopenRNNBaseLayout_t layout;
    int steps, batch, vector_size, found[BATCH] = {0};
    float marker = 9;
    MUST(miopenGetRNNDataSeqTensorDescriptor(desc, &data_type, &layout, &steps, &batch,
                                             &vector_size, BATCH - 1, found, &marker));
    CHECK(data_type == miopenFloat && layout == expected);
    CHECK(steps == STEPS && batch == BATCH && vector_size == INPUT);
    CHECK(found[0] == 4 && found[1] == 2 && found[2] == 0); /* as many as were asked for */
    CHECK(marker == 0);
}

static struct tensors create_tensors(miopenRNNBaseLayout_t layout)
{
    struct tensors made = {0};
    made.x_desc = describe_sequence(layout, INPUT);
    made.y_desc = describe_sequence(layout, DIRECTIONS * HIDDEN);
    made.h_desc = describe(LAYERS * DIRECTIONS, BATCH, HIDDEN);
    made.rows = layout == miopenRNNDataSeqMajorNotPadded ? 7 : STEPS * BATCH;
    made.x_nbytes = made.rows * INPUT * sizeof(float);
    made.y_nbytes = made.rows * DIRECTIONS * HIDDEN * sizeof(float);
    made.x = device_floats(made.x_nbytes / sizeof(float), 1);
    made.y = device_zeros(made.y_nbytes);
    made.dx = device_zeros(made.x_nbytes);
    made.dy = device_floats(made.y_nbytes / sizeof(float), 1);
    made.hx = device_floats(h_nbytes / sizeof(float), 1);
    made.hy = device_zeros(h_nbytes);
    made.dhx = device_zeros(h_nbytes);
    made.dhy = device_floats(h_nbytes / sizeof(float), 1);
    return made;
}

static void dump_tensors(const struct tensors *made, const float *w, const float *dw,
                         size_t w_nbytes)
{
    dump("x", made->x, made->x_nbytes);
    dump("hx", made->hx, h_nbytes);
    dump("dy", made->dy, made->y_nbytes);
    dump("dhy", made->dhy, h_nbytes);
    dump("w", w, w_nbytes);
    dump("y", made->y, made->y_nbytes);
    dump("hy", made->hy, h_nbytes);
    dump("dx", made->dx, made->x_nbytes);
    dump("dhx", made->dhx, h_nbytes);
    dump("dw", dw, w_nbytes);
}

static void destroy_tensors(struct tensors *made)
{
    float *const data[] = {made->x,  made->y,  made->dx,  made->dy,
                           made->hx, made->hy, made->dhx, made->dhy};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        MUST(hipFree(data[i]));
    MUST(miopenDestroySeqTensorDescriptor(made->x_desc));
    MUST(miopenDestroySeqTensorDescriptor(made->y_desc));
    MUST(miopenDestroyTensorDescriptor(made->h_desc));
}

static void run(miopenHandle_t handle, miopenRNNDescriptor_t rnn, struct tensors *made)
{
    miopenTensorDescriptor_t one_row = describe(1, INPUT, 0);
    size_t w_nbytes, work_nbytes, reserve_nbytes, inference_nbytes = 1;
    MUST(miopenGetRNNParamsSize(handle, rnn, one_row, &w_nbytes, miopenFloat));
    MUST(miopenGetRNNTempSpaceSizes(handle, rnn, made->x_desc, miopenRNNInference, NULL,
                                    &inference_nbytes));
    CHECK(inference_nbytes == 0);
    MUST(miopenGetRNNTempSpaceSizes(handle, rnn, made->x_desc, miopenRNNTraining, &work_nbytes,
                                    &reserve_nbytes));
    float *w = device_floats(w_nbytes / sizeof(float), 0.4f), *dw = device_zeros(w_nbytes);
    void *work = device_zeros(work_nbytes), *reserve = device_zeros(reserve_nbytes);

    MUST(miopenRNNForward(handle, rnn, miopenRNNTraining, made->x_desc, made->x, made->h_desc,
                          made->hx, made->hy, made->h_desc, NULL, NULL, made->y_desc, made->y, w,
                          w_nbytes, work, work_nbytes, reserve, reserve_nbytes));
    MUST(miopenRNNBackwardSeqData(handle, rnn, made->y_desc, made->y, made->dy, made->h_desc,
                                  made->hx, made->dhy, made->dhx, made->h_desc, NULL, NULL, NULL,
                                  made->x_desc, made->dx, w, w_nbytes, work, work_nbytes, reserve,
                                  reserve_nbytes));
    MUST(miopenRNNBackwardWeightsSeqTensor(handle, rnn, made->x_desc, made->x, made->h_desc,
                                           made->hx, made->y_desc, made->y, dw, w_nbytes, work,
                                           work_nbytes, reserve, reserve_nbytes));
    dump_tensors(made, w, dw, w_nbytes);
    MUST(hipFree(w));
    MUST(hipFree(dw));
    MUST(hipFree(work));
    MUST(hipFree(reserve));
    MUST(miopenDestroyTensorDescriptor(one_row));
}

int main(int argc, char **argv)
{
    static const miopenRNNBaseLayout_t layouts[] = {
        miopenRNNDataSeqMajorNotPadded, miopenRNNDataSeqMajorPadded, miopenRNNDataBatchMajorPadded};
    miopenHandle_t handle;
    open_results(argc, argv);
    MUST(miopenCreate(&handle));
    miopenRNNDescriptor_t rnn = describe_rnn(HIDDEN, LAYERS, miopenGRU, miopenRNNbidirection, NULL);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct tensors made = create_tensors(layouts[i]);
        check_sequence(made.x_desc, layouts[i]);
        run(handle, rnn, &made);
        destroy_tensors(&made);
    }
    MUST(miopenDestroyRNNDescriptor(rnn));
    MUST(miopenDestroy(handle));
    return exit_status();
}
