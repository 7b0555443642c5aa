/* stepped.c: the host as a device of kernels/stepped. All workers of a job run the loop over the
 * steps, and each does its part of a launch and of a product. A matrix that the rows of several
 * steps meet is packed when the first do.
 *
 * Workers meet before one touches what another may have written. Where matrices are small, each
 * owns sequences, of which it takes all steps (step_part.h). */
#include "stepped.h"

#include "../../stepped/calls.h"
#include "../../target.h"
#include "../kernels.h"
#include "step_kernels.h"

typedef void common_kernel(void **arguments, worker w);
extern common_kernel *const stepped_kernels_f32[],
    *const stepped_kernels_f16[], *const stepped_kernels_bf16[], *const stepped_kernels_f64[];

typedef int run_function(const device_calls *calls, const void *runs, int count);

enum { TOO_LITTLE_SCRATCH = 1 };
enum { MOST_MATRICES = 8, FEW_ROWS = 256 };
/* Rows of a pass from which on packing repays, those where steps else broadcast the matrix, and
 * steps. Those of a layer that runs at once are in recurrence/in_place.inc. */
enum { PACKED_ROWS = 41, PACKED_BROADCAST_ROWS = 129, PACKED_STEPS = 12 };
/* Meetings of a step that is launches and products, by what they take. */
enum { MEETINGS_OF_STEP = 10 };
/* Kernels of all cells, of which the first are shared by numbers, of each, and storage types. */
enum { COMMON = 6, SHARED = 4, OWN = 4, TYPES = 4 };

/* What workers may have written or read since they met. */
typedef enum { NOTHING, OWN_SEQUENCES, ANYTHING } touched;

/* A matrix that is packed. */
typedef struct {
    const void *at;
    int64_t N, K, across, along;
    void *panels;
} packed_matrix;

/* What a worker knows of a run. */
typedef struct {
    const host_device *host;
    worker w;
    step_part part;
    touched since_meeting;
    int64_t used; /* bytes of panels */
    int count;
    packed_matrix packed[MOST_MATRICES];
} context;

/* Functions are numbers, from 1 on: those for all cells, then each cell's own. */
static void *function_of(int number, int storage)
{
    return (void *)(intptr_t)(number * TYPES + storage + 1);
}

void *stepped_function(int storage, int number) { return function_of(number, storage); }

void *stepped_cell_function(int cell, int storage, int number)
{
    return base_float_steps.cells[cell][number] ? function_of(COMMON + cell * OWN + number, storage)
                                                : 0;
}

static const step_table *steps_for(const pool *p, int storage)
{
#if defined(__x86_64__)
    if (pool_build(p) <= AVX512_BUILD)
        return storage == F64 ? &avx512_double_steps : &avx512_float_steps;
    if (pool_build(p) == AVX2_BUILD)
        return storage == F64 ? &avx2_double_steps : &avx2_float_steps;
#endif
    return storage == F64 ? &base_double_steps : &base_float_steps;
}

/* Meet before something that touches so much, unless all that was written is this worker's own. */
static void before_touching(context *c, touched what)
{
    if (c->since_meeting != NOTHING && (what == ANYTHING || c->since_meeting == ANYTHING))
        meet(c->w);
    c->since_meeting = what;
}

static int launch(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                  unsigned int block_x, unsigned int block_y, unsigned int block_z,
                  unsigned int shared_nbytes, void *stream, void **arguments, void **extra)
{
    static common_kernel *const *const common[] = {
        [F32] = stepped_kernels_f32,
        [F16] = stepped_kernels_f16,
        [BF16] = stepped_kernels_bf16,
        [F64] = stepped_kernels_f64,
    };
    context *c = stream;
    const int storage = (int)((intptr_t)function - 1) % TYPES;
    const int number = (int)((intptr_t)function - 1) / TYPES;
    const step_table *steps = steps_for(c->w.pool, storage);
    (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
    (void)shared_nbytes, (void)extra;
    before_touching(c, number < SHARED || !c->part.batch ? ANYTHING : OWN_SEQUENCES);
    if (number < SHARED)
        common[storage][number](arguments, c->w);
    else if (number < COMMON)
        steps->projects[number - SHARED](arguments, storage, &c->part);
    else
        steps->cells[(number - COMMON) / OWN][(number - COMMON) % OWN](arguments, storage,
                                                                       &c->part);
    return 0;
}

/* Whether packing a matrix repays, which several steps meet. */
static int repays_packing(const host_device *host, int broadcasts)
{
    const int64_t enough = broadcasts ? PACKED_BROADCAST_ROWS : PACKED_ROWS;
    return host->steps > 1 && (host->rows >= enough || host->steps >= PACKED_STEPS);
}

/* The panels of b, packed now if they are not, or NULL where that does not repay or find room. */
static void *panels_of(context *c, const kernel_table *kernels, const gemm_call *call)
{
    const operand *b = &call->b;
    const host_device *host = c->host;
    for (int i = 0; i < c->count; i++) {
        const packed_matrix *each = &c->packed[i];
        if (each->at == b->at && each->N == call->N && each->K == call->K &&
            each->across == b->across && each->along == b->along)
            return each->panels;
    }
    const int64_t nbytes = kernels->panels_nbytes(call, c->w.threads);
    if (!repays_packing(host, kernels->broadcasts(call)) || host->rows == call->M ||
        c->count == MOST_MATRICES || c->used + nbytes > host->panels_nbytes)
        return 0;
    void *panels = (char *)host->scratch + host->products_nbytes + c->used;
    kernels->pack_panels(call, panels, c->w);
    if (c->part.batch) {
        meet(c->w);
        c->since_meeting = NOTHING;
    }
    c->packed[c->count++] = (packed_matrix){b->at, call->N, call->K, b->across, b->along, panels};
    c->used += nbytes;
    return panels;
}

static gemm_call product_of(int storage, int c_storage, int64_t M, int64_t N, int64_t K)
{
    return (gemm_call){.storage = storage, .c_storage = c_storage, .M = M, .N = N, .K = K};
}

/* Where workers own sequences, each takes rows: its own only if these are of a step. */
static int packed_product(context *c, const kernel_table *kernels, const gemm_call *call,
                          const void *panels)
{
    const host_device *host = c->host;
    const int by_rows = c->part.batch > 0;
    const step_part part = {c->w, by_rows ? call->M : 0};
    const int64_t room = by_rows ? host->own_nbytes : host->products_nbytes;
    char *scratch = (char *)host->scratch + (by_rows ? c->w.rank * host->own_nbytes : 0);
    if (kernels->panel_scratch(call, by_rows ? 1 : c->w.threads) > room)
        return TOO_LITTLE_SCRATCH;
    before_touching(c, by_rows && call->M == host->batch ? OWN_SEQUENCES : ANYTHING);
    kernels->panel_product(call, panels, scratch, &part);
    return 0;
}

/* By columns C = op(A) op(B) is by rows C' = op(B)' op(A)'. */
static int multiply(void *blas, int op_a, int op_b, int m, int n, int k, const void *alpha,
                    const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                    const void *beta, void *c, int c_type, int ldc, int compute, int algorithm)
{
    context *own = blas;
    const host_device *host = own->host;
    const kernel_table *kernels = kernels_for(own->w.pool, a_type);
    const int real_type = a_type == F64 ? F64 : F32;
    gemm_call call = product_of(a_type, c_type, n, m, k);
    (void)alpha, (void)b_type, (void)compute, (void)algorithm; /* 1, a_type, and no choice */
    call.accumulate = a_type == F64 ? *(const double *)beta != 0 : *(const float *)beta != 0;
    call.a = (operand){.at = b, .across = op_b ? 1 : ldb, .along = op_b ? ldb : 1};
    call.b = (operand){.at = a, .across = op_a ? lda : 1, .along = op_a ? 1 : lda};
    call.c = c, call.c_row = ldc;
    void *panels = 0;
    if (c_type == real_type && call.a.along == 1 && n <= FEW_ROWS)
        panels = panels_of(own, kernels, &call);
    if (panels)
        return packed_product(own, kernels, &call, panels);
    if (kernels->gemm_scratch(&call, own->w.threads) > host->products_nbytes)
        return TOO_LITTLE_SCRATCH;
    before_touching(own, ANYTHING);
    kernels->gemm(&call, host->scratch, own->w);
    return 0;
}

/* Whether workers own sequences: all steps have the same, no more than packed products take, and
 * their packed matrices are small. Kernels of masks share rows otherwise. */
static int owns_sequences(const host_device *host, int threads, int64_t nbytes)
{
    const int64_t cache = pool_second_level(host->pool);
    const int is_even = host->batch * host->steps == host->rows;
    const int suits = suffice_for_workers(host->rows, host->steps, threads);
    return nbytes && nbytes <= cache * 3 / 4 && is_even && suits && host->batch <= FEW_ROWS &&
           !host->is_masked;
}

int64_t stepped_scratch(host_device *host, int storage, int64_t count, int64_t of_steps,
                        const int64_t *matrices)
{
    const kernel_table *kernels = kernels_for(host->pool, storage);
    const int threads = pool_threads(host->pool), real_type = storage == F64 ? F64 : F32;
    int64_t shared_nbytes = 0, own_nbytes = 0, steps_nbytes = 0;
    host->panels_nbytes = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t N = matrices[2 * i], K = matrices[2 * i + 1];
        gemm_call call = product_of(storage, real_type, MOST(host->rows, 1), N, K);
        gemm_call few = product_of(storage, real_type, LEAST(call.M, FEW_ROWS), N, K);
        /* Gates before and behind a late one, and that, are panels of their own. */
        const gemm_call parts = product_of(storage, real_type, 1, N + 3 * 64, K);
        call.a.along = call.b.along = 1; /* which takes most */
        shared_nbytes = MOST(shared_nbytes, kernels->gemm_scratch(&call, threads));
        shared_nbytes = MOST(shared_nbytes, kernels->panel_scratch(&few, threads));
        own_nbytes = MOST(own_nbytes, kernels->panel_scratch(&few, 1));
        if (repays_packing(host, 0))
            host->panels_nbytes += kernels->panels_nbytes(&parts, threads);
        if (i < of_steps)
            steps_nbytes = host->panels_nbytes;
    }
    host->owns_sequences = owns_sequences(host, threads, steps_nbytes);
    host->own_nbytes = CEIL(own_nbytes, 64) * 64;
    if (host->owns_sequences)
        shared_nbytes = MOST(shared_nbytes, threads * host->own_nbytes);
    host->products_nbytes = CEIL(shared_nbytes, 64) * 64;
    return host->products_nbytes + host->panels_nbytes;
}

typedef struct {
    const stepped_call *call;
    int error;
} job;

static void run_job(void *arg, worker w)
{
    job *j = arg;
    const host_device *host = &j->call->host;
    context c = {.host = host, .w = w, .part = {w, host->owns_sequences ? host->batch : 0}};
    device_calls calls = *(const device_calls *)j->call->calls;
    calls.launch = launch, calls.gemm = multiply;
    calls.blas = calls.stream = &c;
    calls.transpose = calls.most_blocks = 1;
    for (int type = F32; type < TYPES; type++)
        calls.type[type] = type;
    const int error = ((run_function *)j->call->function)(&calls, j->call->runs, j->call->count);
    if (!w.rank)
        j->error = error; /* the same for all */
}

static effort effort_of(const host_device *host)
{
    const int64_t all = host->row_work * host->rows, of_step = all / MOST(host->steps, 1);
    return (effort){all, host->owns_sequences ? 0 : MOST(of_step / MEETINGS_OF_STEP, 1)};
}

int stepped_run(const stepped_call *call)
{
    job j = {call, 0};
    pool_run(call->host.pool, effort_of(&call->host), run_job, &j);
    return j.error;
}
