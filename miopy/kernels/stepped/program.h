/* Calls one after the other, on memory that is only known when they run. A pointer among their
 * arguments that moves is described by the number of its base, from PROGRAM_BASE_SHIFT bits on, and
 * by how far behind that it is: no address is longer. */
enum { PROGRAM_BASE_SHIFT = 56 };
enum { PROGRAM_LAUNCH, PROGRAM_PRODUCT, PROGRAM_FORWARD, PROGRAM_BACKWARD };

typedef struct {
    int kind, runs;
    void *function;   /* of a launch, */
    int64_t elements; /* and its threads */
    void *arguments;  /* pointers to those of a launch; a product; runs of the steps */
} program_call;

typedef struct {
    int64_t num_calls, num_pointers;
    const program_call *calls;
    void *const *pointers;  /* (num_pointers) where they are among the arguments */
    const uint64_t *places; /* (num_pointers) what describes them */
} stepped_program;

/* bases[0] must be 0. */
void place_program(const stepped_program *g, const uint64_t *bases);
/* The first error, as of steps.h. */
int run_program(const device_calls *calls, const stepped_program *g);
