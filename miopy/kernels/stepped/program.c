/* program.c: the calls of a pass, taken down once. */
#include "product.h"
#include "program.h"

#include <string.h>

void place_program(const stepped_program *g, const uint64_t *bases)
{
    const uint64_t offset = ((uint64_t)1 << PROGRAM_BASE_SHIFT) - 1;
    for (int64_t i = 0; i < g->num_pointers; i++) {
        const uint64_t place = g->places[i];
        const uint64_t address = bases[place >> PROGRAM_BASE_SHIFT] + (place & offset);
        memcpy(g->pointers[i], &address, sizeof address);
    }
}

static int run_call(const device_calls *calls, const program_call *c)
{
    switch (c->kind) {
    case PROGRAM_LAUNCH: return launch_elements(calls, c->function, c->elements, c->arguments);
    case PROGRAM_PRODUCT: return multiply(calls, c->arguments);
    case PROGRAM_FORWARD: return run_forward(calls, c->arguments, c->runs);
    default: return run_backward(calls, c->arguments, c->runs);
    }
}

int run_program(const device_calls *calls, const stepped_program *g)
{
    for (int64_t i = 0; i < g->num_calls; i++)
        TRY(run_call(calls, g->calls + i));
    return 0;
}
