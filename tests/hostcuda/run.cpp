/* run.cpp: the threads of a launch, one after another. */
#include "runtime.h"

namespace hostcuda
{
Thread *current;

int run(const Launch &launch, void **arguments)
{
    Thread thread = {{}, {}, launch.block, launch.grid};
    dim3 &at = thread.thread, &block = thread.block;
    current = &thread;
    for (block.z = 0; block.z < launch.grid.z; block.z++)
        for (block.y = 0; block.y < launch.grid.y; block.y++)
            for (block.x = 0; block.x < launch.grid.x; block.x++)
                for (at.z = 0; at.z < launch.block.z; at.z++)
                    for (at.y = 0; at.y < launch.block.y; at.y++)
                        for (at.x = 0; at.x < launch.block.x; at.x++)
                            launch.kernel->call(arguments);
    current = nullptr;
    return SUCCESS;
}
} // namespace hostcuda
