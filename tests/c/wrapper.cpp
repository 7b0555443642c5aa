/* A C++ program with exceptions and objects that own their handles, some of them static: these are
 * destroyed after main. Threads share one handle's weights and descriptors. */

#include <miopen/miopen.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Error : std::runtime_error {
    explicit Error(miopenStatus_t status) : std::runtime_error(miopenGetErrorString(status)) {}
};

static void check(miopenStatus_t status)
{
    if (status != miopenStatusSuccess)
        throw Error(status);
}

/* Owns what one pair of functions creates and destroys. */
template <class T, miopenStatus_t (*create)(T *), miopenStatus_t (*destroy)(T)> class Owned
{
  public:
    Owned() { check(create(&object)); }
    ~Owned()
    {
        if (destroy(object) != miopenStatusSuccess)
            std::fprintf(stderr, "an object cannot be destroyed\n");
    }
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    operator T() const { return object; }

  private:
    T object = nullptr;
};

using Handle = Owned<miopenHandle_t, miopenCreate, miopenDestroy>;
using Tensor =
    Owned<miopenTensorDescriptor_t, miopenCreateTensorDescriptor, miopenDestroyTensorDescriptor>;
using Rnn = Owned<miopenRNNDescriptor_t, miopenCreateRNNDescriptor, miopenDestroyRNNDescriptor>;

static void set(const Tensor &tensor, const std::vector<int> &dims)
{
    check(miopenSetTensorDescriptor(tensor, miopenFloat, static_cast<int>(dims.size()), dims.data(),
                                    nullptr));
}

const int steps = 3, batch = 2, input_size = 4, hidden_size = 5;

static Handle shared_handle;
static Tensor x_desc, y_desc, h_desc, w_desc;
static Rnn rnn;

static std::vector<float> infer(const std::vector<float> &weights, const std::vector<float> &x)
{
    const Handle handle; /* one for each thread, as MIOpen wants */
    const std::vector<miopenTensorDescriptor_t> x_descs(steps, x_desc), y_descs(steps, y_desc);
    std::size_t nbytes;
    check(miopenGetRNNWorkspaceSize(handle, rnn, steps, x_descs.data(), &nbytes));
    std::vector<char> workspace(nbytes + 1);
    std::vector<float> y(steps * batch * hidden_size);
    check(miopenRNNForwardInference(handle, rnn, steps, x_descs.data(), x.data(), h_desc, nullptr,
                                    h_desc, nullptr, w_desc, weights.data(), y_descs.data(),
                                    y.data(), h_desc, nullptr, h_desc, nullptr, workspace.data(),
                                    nbytes));
    return y;
}

static bool refuses_bad_sizes()
{
    try {
        set(x_desc, {1, 0});
    } catch (const Error &error) {
        return std::string(error.what()) == "miopenStatusBadParm";
    }
    return false;
}

int main()
{
    std::atomic<int> different(0);
    std::vector<std::thread> threads;
    std::size_t nbytes;
    set(x_desc, {batch, input_size});
    set(y_desc, {batch, hidden_size});
    set(h_desc, {1, batch, hidden_size});
    check(miopenSetRNNDescriptor(rnn, hidden_size, 1, miopenRNNlinear, miopenRNNunidirection,
                                 miopenGRU, miopenRNNNoBias, miopenRNNdefault, miopenFloat));
    check(miopenGetRNNParamsSize(shared_handle, rnn, x_desc, &nbytes, miopenFloat));
    std::vector<float> weights(nbytes / sizeof(float), 0.1f), x(steps * batch * input_size, 0.5f);
    set(w_desc, {static_cast<int>(weights.size())});

    const std::vector<float> expected = infer(weights, x);
    for (int number = 0; number < 4; number++)
        threads.emplace_back([&] {
            for (int round = 0; round < 20; round++)
                different += infer(weights, x) != expected;
        });
    for (std::thread &thread : threads)
        thread.join();
    return expected[0] > 0 && different == 0 && refuses_bad_sizes() ? 0 : 1;
}
