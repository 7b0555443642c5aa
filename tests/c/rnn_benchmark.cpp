/* Times the passes of recurrent networks shape by shape, in the manner of DeepBench: vanilla, LSTM
 * and GRU layers without bias and with skip input, whose width is the hidden size.
 *
 * usage: rnn_benchmark [REPEATS [MODE HIDDEN BATCH STEPS]...]      MODE: relu, tanh, lstm, gru
 */

#include <hip/hip_runtime.h>
#include <miopen/miopen.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#define CHECK_HIP(call) check((call) == hipSuccess, #call)
#define CHECK_MIOPEN(call) check((call) == miopenStatusSuccess, #call)

static void check(bool succeeded, const char *call)
{
    if (!succeeded)
        throw std::runtime_error(std::string(call) + " failed");
}

struct Shape {
    std::string mode;
    int hidden, batch, steps;
};

/* Some of DeepBench's shapes: speech, translation and language models. */
static const std::vector<Shape> default_shapes = {
    {"relu", 1760, 16, 50}, {"relu", 2560, 32, 50}, {"lstm", 512, 16, 25}, {"lstm", 1024, 64, 25},
    {"lstm", 256, 16, 150}, {"gru", 1024, 32, 50},  {"gru", 1536, 4, 50},
};

static miopenRNNMode_t mode_of(const std::string &name)
{
    const std::string names[] = {"relu", "tanh", "lstm",
                                 "gru"}; /* in the order of the enumeration */
    for (int mode = 0; mode < 4; mode++)
        if (names[mode] == name)
            return static_cast<miopenRNNMode_t>(mode);
    throw std::runtime_error("there is no mode " + name);
}

class Memory
{
  public:
    explicit Memory(std::size_t nbytes) : nbytes(nbytes)
    {
        CHECK_HIP(hipMalloc(&pointer, nbytes));
        CHECK_HIP(hipMemset(pointer, 0, nbytes));
    }
    ~Memory() { hipFree(pointer); }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    const std::size_t nbytes;
    void *pointer = nullptr;
};

static miopenTensorDescriptor_t describe(const std::vector<int> &dims)
{
    miopenTensorDescriptor_t desc;
    CHECK_MIOPEN(miopenCreateTensorDescriptor(&desc));
    CHECK_MIOPEN(miopenSetTensorDescriptor(desc, miopenFloat, static_cast<int>(dims.size()),
                                           dims.data(), nullptr));
    return desc;
}

static miopenRNNDescriptor_t describe_rnn(const Shape &shape)
{
    miopenRNNDescriptor_t desc;
    CHECK_MIOPEN(miopenCreateRNNDescriptor(&desc));
    CHECK_MIOPEN(miopenSetRNNDescriptor(desc, shape.hidden, 1, miopenRNNskip, miopenRNNunidirection,
                                        mode_of(shape.mode), miopenRNNNoBias, miopenRNNdefault,
                                        miopenFloat));
    return desc;
}

static miopenTensorDescriptor_t describe_weights(miopenHandle_t handle, miopenRNNDescriptor_t rnn,
                                                 miopenTensorDescriptor_t step)
{
    miopenTensorDescriptor_t desc;
    CHECK_MIOPEN(miopenCreateTensorDescriptor(&desc));
    CHECK_MIOPEN(miopenGetRNNParamsDescriptor(handle, rnn, step, desc, miopenFloat));
    return desc;
}

/* The answer of a size query, whose last parameter points to it. */
template <class Query, class... Arguments> static std::size_t ask(Query query, Arguments... given)
{
    std::size_t nbytes;
    CHECK_MIOPEN(query(given..., &nbytes));
    return nbytes;
}

class Benchmark
{
  public:
    Benchmark(miopenHandle_t handle, const Shape &shape)
        : handle(handle), steps(shape.steps), step(describe({shape.batch, shape.hidden})),
          state(describe({1, shape.batch, shape.hidden})), rnn(describe_rnn(shape)),
          w_desc(describe_weights(handle, rnn, step)),
          descs(static_cast<std::size_t>(shape.steps), step),
          x(ask(miopenGetRNNInputTensorSize, handle, rnn, steps, descs.data())), y(x.nbytes),
          dx(x.nbytes), dy(x.nbytes), w(ask(miopenGetTensorNumBytes, w_desc)), dw(w.nbytes),
          workspace(ask(miopenGetRNNWorkspaceSize, handle, rnn, steps, descs.data())),
          reserve(ask(miopenGetRNNTrainingReserveSize, handle, rnn, steps, descs.data()))
    {
    }

    ~Benchmark()
    {
        for (miopenTensorDescriptor_t desc : {step, state, w_desc})
            miopenDestroyTensorDescriptor(desc);
        miopenDestroyRNNDescriptor(rnn);
    }

    void forward();
    void backward_data();
    void backward_weights();

  private:
    miopenHandle_t handle;
    int steps;
    miopenTensorDescriptor_t step, state;
    miopenRNNDescriptor_t rnn;
    miopenTensorDescriptor_t w_desc;
    std::vector<miopenTensorDescriptor_t> descs;
    Memory x, y, dx, dy, w, dw, workspace, reserve;
};

void Benchmark::forward()
{
    CHECK_MIOPEN(miopenRNNForwardTraining(
        handle, rnn, steps, descs.data(), x.pointer, state, nullptr, state, nullptr, w_desc,
        w.pointer, descs.data(), y.pointer, state, nullptr, state, nullptr, workspace.pointer,
        workspace.nbytes, reserve.pointer, reserve.nbytes));
}

void Benchmark::backward_data()
{
    CHECK_MIOPEN(miopenRNNBackwardData(
        handle, rnn, steps, descs.data(), y.pointer, descs.data(), dy.pointer, state, nullptr,
        state, nullptr, w_desc, w.pointer, state, nullptr, state, nullptr, descs.data(), dx.pointer,
        state, nullptr, state, nullptr, workspace.pointer, workspace.nbytes, reserve.pointer,
        reserve.nbytes));
}

void Benchmark::backward_weights()
{
    CHECK_MIOPEN(miopenRNNBackwardWeights(
        handle, rnn, steps, descs.data(), x.pointer, state, nullptr, descs.data(), y.pointer,
        w_desc, dw.pointer, workspace.pointer, workspace.nbytes, reserve.pointer, reserve.nbytes));
}

/* Mean milliseconds of one call; the first, which warms up, is not counted. */
static double time(int repeats, const std::function<void()> &pass)
{
    using clock = std::chrono::steady_clock;
    pass();
    CHECK_HIP(hipDeviceSynchronize());
    const clock::time_point start = clock::now();
    for (int repeat = 0; repeat < repeats; repeat++)
        pass();
    CHECK_HIP(hipDeviceSynchronize());
    return std::chrono::duration<double, std::milli>(clock::now() - start).count() / repeats;
}

static void run(const std::vector<Shape> &shapes, int repeats)
{
    miopenHandle_t handle;
    hipStream_t stream;
    CHECK_HIP(hipStreamCreate(&stream));
    CHECK_MIOPEN(miopenCreateWithStream(&handle, stream));
    std::printf("mode hidden batch steps  forward ms  backward data ms  backward weights ms\n");
    for (const Shape &shape : shapes) {
        Benchmark benchmark(handle, shape);
        const double forward = time(repeats, [&] { benchmark.forward(); });
        const double data = time(repeats, [&] { benchmark.backward_data(); });
        const double weights = time(repeats, [&] { benchmark.backward_weights(); });
        std::printf("%-4s %6d %5d %5d %11.3f %17.3f %20.3f\n", shape.mode.c_str(), shape.hidden,
                    shape.batch, shape.steps, forward, data, weights);
    }
    CHECK_HIP(hipStreamDestroy(stream)); /* before the handle, as some programs do */
    CHECK_MIOPEN(miopenDestroy(handle));
}

int main(int argc, char **argv)
{
    std::vector<Shape> shapes;
    for (int i = 2; i + 3 < argc; i += 4)
        shapes.push_back(
            {argv[i], std::atoi(argv[i + 1]), std::atoi(argv[i + 2]), std::atoi(argv[i + 3])});
    try {
        run(shapes.empty() ? default_shapes : shapes, argc > 1 ? std::atoi(argv[1]) : 10);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "rnn_benchmark: %s\n", error.what());
        return 1;
    }
    return 0;
}
