/* recurrence.c: passes as jobs of a pool: each on all workers, or two side by side. */
#include "recurrence.h"
#include "../../target.h"
#include "../kernels.h"

enum { LINE = 64 };         /* bytes to which scratch is aligned */
enum { LEAST_STEPS = 10 };  /* that repay waiting for the first of the layer below */
enum { FEW_SEQUENCES = 7 }; /* of which each worker would have half a tile or so */
enum { MOST_WORKERS = 4 };  /* of a pool: all its threads are woken for two passes */

typedef struct {
    const kernel_table *kernels;
    const void *pass;
    char *scratch;
    int64_t each_nbytes; /* of scratch, of each of two passes that run side by side; else 0 */
} job;

/* A worker that runs one of two passes by itself; and whether this one runs the other. */
static worker alone(worker w, pass_stage stage) { return (worker){w.pool, 0, 1, 1, stage}; }
static int runs_other(worker w) { return w.threads == 1 || w.rank == 1; }

/* Of a pass that runs beside its other one, and of that one. */
static pass_stage stage_of(const forward_pass *p) { return p->other->follows ? FEEDS : UNSTAGED; }
static pass_stage stage_of_other(const forward_pass *p)
{
    return p->other->follows ? FOLLOWS : UNSTAGED;
}

static void run_forward(void *arg, worker w)
{
    const job *j = arg;
    const forward_pass *p = j->pass;
    if (!j->each_nbytes) {
        j->kernels->forward(p, j->scratch, w);
        return;
    }
    if (!w.rank)
        j->kernels->forward(p, j->scratch, alone(w, stage_of(p)));
    if (runs_other(w))
        j->kernels->forward(p->other, j->scratch + j->each_nbytes, alone(w, stage_of_other(p)));
}

static void run_backward(void *arg, worker w)
{
    const job *j = arg;
    const backward_pass *p = j->pass;
    if (!j->each_nbytes) {
        j->kernels->backward(p, j->scratch, w);
        return;
    }
    if (!w.rank)
        j->kernels->backward(p, j->scratch, alone(w, UNSTAGED));
    if (runs_other(w))
        j->kernels->backward(p->other, j->scratch + j->each_nbytes, alone(w, UNSTAGED));
}

/* Of a pass, whose workers meet at every step unless each has sequences of its own. A step's
 * multiply-adds of one sequence take longer, as these fill the multipliers less. */
static effort effort_of(const pool *p, const kernel_table *kernels, const rnn_layer *l)
{
    const int64_t weights =
        kernels->gates[l->cell] * l->hidden_size * (inputs_of(l) + l->hidden_size);
    effort e = {weights * MOST(l->rows, READING * l->steps)};
    if (l->steps && !suffice_for_workers(l->rows, l->steps, pool_threads(p)))
        e.step = weights * l->rows / l->steps;
    if (first_sequences(l) == 1)
        e.step = e.step * 10 / 7;
    return e;
}

/* Of a pass and another one, if that runs beside it: workers then meet in no step. */
static effort effort_of_two(effort one, effort other) { return (effort){one.all + other.all}; }

/* Whether so many matrices of the recurrent one's size fit a second-level cache: one backward, two
 * forward, where steps may read an input matrix as well. It was measured of floats, as which others
 * count. */
static int fit_near(const pool *p, const kernel_table *kernels, const rnn_layer *l, int matrices)
{
    const int64_t numbers = kernels->gates[l->cell] * l->hidden_size * l->hidden_size;
    const int64_t nbytes = numbers * (l->storage == F64 ? sizeof(double) : sizeof(float));
    return matrices * nbytes <= pool_second_level(p);
}

/* Whether two passes run side by side, meeting in no step: where neither is worth sharing, or where
 * two, whom they suit, are all workers. */
static int are_side_by_side(const pool *p, effort one, effort other, int suit_two)
{
    const int threads = pool_threads(p);
    if (threads == 1 || threads > MOST_WORKERS || !repays_sharing(p, effort_of_two(one, other)))
        return 0;
    return (threads == 2 && suit_two) || (!repays_sharing(p, one) && !repays_sharing(p, other));
}

/* Whether a layer and the one above it, a step behind, take about as long, for steps enough. Of a
 * few sequences shared work takes so much longer that one may wait for the other more often. */
static int keep_step(const rnn_layer *l, effort one, effort other)
{
    const int of_8 = first_sequences(l) <= FEW_SEQUENCES ? 5 : 7;
    return l->steps >= LEAST_STEPS && 8 * one.all >= of_8 * other.all &&
           8 * other.all >= of_8 * one.all;
}

/* Bytes of scratch of each of two passes that run side by side, else 0. */
static int64_t forward_nbytes_each(const pool *p, const kernel_table *kernels,
                                   const forward_pass *pass)
{
    const forward_pass *other = pass->other;
    if (!other)
        return 0;
    const rnn_layer *l = &other->layer;
    const effort one = effort_of(p, kernels, &pass->layer), two = effort_of(p, kernels, l);
    const int suit_two = fit_near(p, kernels, l, 2) && (!other->follows || keep_step(l, one, two));
    if (!are_side_by_side(p, one, two, suit_two))
        return 0;
    if (other->follows &&
        (l->steps < 2 || !kernels->reads_by_step(pass) || !kernels->reads_by_step(other)))
        return 0;
    const int64_t first = kernels->forward_scratch(pass, 1, stage_of(pass));
    const int64_t second = kernels->forward_scratch(other, 1, stage_of_other(pass));
    return CEIL(MOST(first, second), LINE) * LINE;
}

/* The same; directions differ in nothing that it depends on. */
static int64_t backward_nbytes_each(const pool *p, const kernel_table *kernels,
                                    const backward_pass *pass)
{
    const rnn_layer *l = &pass->layer;
    const effort one = effort_of(p, kernels, l);
    if (!pass->other || !are_side_by_side(p, one, one, fit_near(p, kernels, l, 1)))
        return 0;
    return CEIL(kernels->backward_scratch(pass, 1), LINE) * LINE;
}

int64_t forward_scratch(const pool *p, const forward_pass *pass)
{
    const kernel_table *kernels = kernels_for(p, pass->layer.storage);
    const int64_t each = forward_nbytes_each(p, kernels, pass);
    int64_t most = 2 * each;
    for (; pass && !each; pass = pass->other)
        most = MOST(most, kernels->forward_scratch(pass, pool_threads(p), UNSTAGED));
    return most;
}

int64_t backward_scratch(const pool *p, const backward_pass *pass)
{
    const kernel_table *kernels = kernels_for(p, pass->layer.storage);
    const int64_t each = backward_nbytes_each(p, kernels, pass);
    int64_t most = 2 * each;
    for (; pass && !each; pass = pass->other)
        most = MOST(most, kernels->backward_scratch(pass, pool_threads(p)));
    return most;
}

void recurrence_forward(pool *p, const forward_pass *pass, void *scratch)
{
    job j = {kernels_for(p, pass->layer.storage), pass, scratch};
    effort e = effort_of(p, j.kernels, &pass->layer);
    j.each_nbytes = forward_nbytes_each(p, j.kernels, pass);
    if (j.each_nbytes)
        e = effort_of_two(e, effort_of(p, j.kernels, &pass->other->layer));
    pool_run(p, e, run_forward, &j);
    if (pass->other && !j.each_nbytes)
        recurrence_forward(p, pass->other, scratch);
}

void recurrence_backward(pool *p, const backward_pass *pass, void *scratch)
{
    job j = {kernels_for(p, pass->layer.storage), pass, scratch};
    effort e = effort_of(p, j.kernels, &pass->layer);
    j.each_nbytes = backward_nbytes_each(p, j.kernels, pass);
    if (j.each_nbytes)
        e = effort_of_two(e, e);
    pool_run(p, e, run_backward, &j);
    if (pass->other && !j.each_nbytes)
        recurrence_backward(p, pass->other, scratch);
}
