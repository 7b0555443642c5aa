// A library whose static object calls when the Python that loaded it has been shut down.

#include <cstdio>
#include <miopen/miopen.h>

struct Holder {
    miopenHandle_t handle = nullptr;

    ~Holder()
    {
        miopenTensorDescriptor_t desc;
        int destroyed = miopenDestroy(handle), created = miopenCreateTensorDescriptor(&desc);
        std::printf("destroyed: %d, created: %d\n", destroyed, created);
    }
};

static Holder holder;

extern "C" int create() { return miopenCreate(&holder.handle); }
