// Static objects from before and after the first call, and an exit handler, call while the program
// ends. It ends by exit(3) if it is given an argument.

#include <cstdio>
#include <cstdlib>
#include <miopen/miopen.h>

struct Holder {
    miopenHandle_t handle = nullptr;
    const char *name;

    explicit Holder(const char *given) : name(given) {}
    ~Holder() { std::printf("%s: %d\n", name, miopenDestroy(handle)); }
};

static Holder early("early");

static void at_exit()
{
    miopenTensorDescriptor_t desc;
    std::printf("handler: %d\n", miopenCreateTensorDescriptor(&desc));
}

int main(int argc, char **)
{
    std::atexit(at_exit);
    if (miopenCreate(&early.handle))
        return 1;
    static Holder late("late");
    if (miopenCreate(&late.handle))
        return 1;
    std::printf("main\n");
    if (argc > 1)
        std::exit(3);
    return 0;
}
