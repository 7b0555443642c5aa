/* The library is opened, called and closed many times, by name or by the path that is given. */

#define _POSIX_C_SOURCE 200809L

#include <dlfcn.h>
#include <string.h>

#include "check.h"

int main(int argc, char **argv)
{
    for (int round = 0; round < 50; round++) {
        void *library = dlopen(argc > 1 ? argv[1] : "libMIOpen.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void *symbol = dlsym(library, "miopenDestroy");
        int (*destroy)(void *);
        memcpy(&destroy, &symbol, sizeof destroy);
        EXPECT(0, destroy(NULL));
        CHECK(dlclose(library) == 0);
    }
    return exit_status();
}
