#include "convolve/arrays.h"

#include "convolve/arrays_plan.h"
#include "convolve/partition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FFT_MOST = 1 << 20,    /* points */
    FFT_CACHED = 1 << 18,  /* points; longer transforms leave the cache */
    DIRECT_HOP = 1 << 12,  /* frames */
    ARRAYS_PER_THREAD = 2, /* least number for which threads take whole convolutions */
};

/* Costs in double precision, relative to those in single. Direct sums there are compensated. */
static const double DOUBLE_COST = 2;
static const double DOUBLE_TAP_COST = 8;

/* Estimated ns, with samples and memory that other threads use at the same time. */
static const double TILE_COST = 30;  /* cost of FIR_TILE frames without their taps */
static const double STEP_COST = 100; /* fixed part of the cost of a transform */
static const double FFT_COST = 0.06; /* factor of n log2 n */
static const double FFT_COST_LONG = 0.16;
static const double MULTIPLY_COST = 0.25; /* cost of a product of two numbers of spectra */

/* ns; threads do not share shorter convolutions, since they wait for each other in each step. */
static const double SHARED_COST = 300e3;

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A group while it is planned. */
struct planning {
    struct arrays_plan base, best;
    size_t first;     /* the output's first frame in the convolution of the trimmed operands */
    size_t cached;    /* points; longer transforms leave the cache */
    bool is_wide;     /* double precision */
    double transform; /* estimated ns of one that is considered */
};

static void keep_cheaper(struct planning *planning, const struct arrays_plan *plan, double cost)
{
    if (cost >= planning->best.cost)
        return;
    planning->best = *plan;
    planning->best.cost = cost;
}

/* One window with the whole signal. Frames that wrap around are not part of the output. */
static void plan_whole(struct planning *planning, size_t n)
{
    struct arrays_plan plan = planning->base;
    size_t first = planning->first, all = plan.signal.count + plan.mask.count - 1;
    double mask = plan.mask.step ? 1 : 0;
    if (plan.signal.count > n || first + plan.frames > n || all > n + first)
        return;
    plan.fft = n;
    plan.hop = plan.frames;
    plan.blocks = plan.partitions = 1;
    plan.taps = plan.mask.count;
    plan.skip = first;
    plan.begin = 0;
    keep_cheaper(planning, &plan, (2 + mask) * planning->transform + MULTIPLY_COST * (double)n);
}

/* Windows that overlap by `taps` - 1 frames, or by a partition's taps. */
static void plan_windows(struct planning *planning, size_t n, size_t taps)
{
    struct arrays_plan plan = planning->base;
    plan.fft = n;
    plan.taps = taps;
    plan.partitions = divide_up(plan.mask.count, taps);
    plan.skip = plan.partitions > 1 ? taps : taps - 1;
    plan.hop = n - plan.skip;
    plan.blocks = divide_up(plan.frames, plan.hop);
    plan.begin = (ptrdiff_t)planning->first - (ptrdiff_t)plan.skip;
    size_t windows =
        least(plan.blocks + plan.partitions - 1, divide_up(plan.signal.count + n, plan.hop));
    double products = (double)(least(plan.blocks, windows) * plan.partitions);
    double masks = plan.mask.step ? (double)plan.partitions : 0;
    double transforms = (double)(plan.blocks + windows) + masks;
    keep_cheaper(planning, &plan,
                 transforms * planning->transform + products * MULTIPLY_COST * (double)n);
}

static void plan_directly(struct planning *planning)
{
    struct arrays_plan *plan = &planning->base;
    plan->partitions = 1;
    plan->taps = plan->mask.count;
    plan->skip = plan->taps - 1;
    plan->hop = least(plan->frames, DIRECT_HOP);
    plan->blocks = divide_up(plan->frames, plan->hop);
    plan->begin = (ptrdiff_t)planning->first - (ptrdiff_t)plan->skip;
    size_t tiles = divide_up(plan->frames, FIR_TILE);
    double taps = planning->is_wide ? DOUBLE_TAP_COST / DOUBLE_COST : 1;
    plan->cost =
        TILE_COST * (double)tiles + taps * partition_head_cost(plan->taps, tiles * FIR_TILE);
    planning->best = *plan;
}

/* Keeps what frames [first, end) of the whole convolution depend on. Returns the number of `first`
 * in the convolution of what is kept. */
static size_t trim(struct arrays_operand *x, struct arrays_operand *h, size_t first, size_t end)
{
    x->from = first >= h->length ? first - h->length + 1 : 0;
    h->from = first >= x->length ? first - x->length + 1 : 0;
    x->count = least(x->length, end) - x->from;
    h->count = least(h->length, end) - h->from;
    return first - x->from - h->from;
}

static void plan_transforms(struct planning *planning)
{
    size_t taps = planning->base.mask.count;
    for (size_t number = 0, n; (n = (size_t)ODD_FFT_LEAST << number / 2) <= FFT_MOST; number++) {
        n = number % 2 ? n / 2 * 3 : n;
        double factor = n > planning->cached ? FFT_COST_LONG : FFT_COST;
        planning->transform = STEP_COST + factor * (double)n * log2((double)n);
        if (!odd_fft_fits(n) || 2 * planning->transform > planning->best.cost)
            continue;
        plan_whole(planning, n);
        if (n / 4 * 3 >= taps)
            plan_windows(planning, n, taps);
        else if (n <= planning->cached)
            plan_windows(planning, n, n / 2);
    }
}

static struct arrays_plan plan_group(const struct arrays_group *group, const struct arrays_job *job)
{
    struct arrays_operand x = {group->x, group->x_step, group->frames, .is_backwards = false};
    struct arrays_operand h = {group->h, group->h_step, group->taps,
                               .is_backwards = job->correlate};
    struct planning planning = {.is_wide = job->sample == ARRAYS_FLOAT64};
    struct arrays_plan *plan = &planning.base;
    size_t all = x.length && h.length ? x.length + h.length - 1 : 0;
    if (group->first >= all || group->out_frames == 0)
        return *plan;
    plan->frames = least(group->out_frames, all - group->first);
    planning.first = trim(&x, &h, group->first, group->first + plan->frames);
    planning.cached = planning.is_wide ? FFT_CACHED / 4 : FFT_CACHED;
    bool swaps = x.count < h.count;
    plan->signal = swaps ? h : x;
    plan->mask = swaps ? x : h;
    if (group->count < 2)
        plan->mask.step = 1; /* no other convolution uses its spectra */
    plan_directly(&planning);
    plan_transforms(&planning);
    return planning.best;
}

static enum status run_in_single(const struct arrays_job *job, const struct arrays_plan *plans,
                                 struct workers *workers, bool shares_each)
{
    size_t count = plans[job->group_count].before;
    bool *are_left = calloc(count + 1, sizeof *are_left);
    if (!are_left)
        return fail_memory("arrays");
    enum status status = arrays_run(job, plans, workers, shares_each, are_left);
    if (status == STATUS_OK && memchr(are_left, true, count))
        status = arrays_run_in_double(job, plans, workers, shares_each, are_left);
    free(are_left);
    return status;
}

static enum status run(const struct arrays_job *job, const struct arrays_plan *plans,
                       size_t threads, double cost)
{
    struct workers *all = NULL;
    bool is_wide = job->sample == ARRAYS_FLOAT64;
    if (threads != 1)
        TRY(workers_create_for_later(threads, &all));
    size_t count = plans[job->group_count].before;
    cost *= is_wide ? DOUBLE_COST : 1;
    struct workers *workers = workers_worth(all, cost);
    bool shares_each =
        count < ARRAYS_PER_THREAD * workers_count(workers) && cost > SHARED_COST * (double)count;
    enum status status = is_wide ? arrays_run_in_double(job, plans, workers, shares_each, NULL)
                                 : run_in_single(job, plans, workers, shares_each);
    workers_destroy(all);
    return status;
}

enum status arrays_convolve_host(const struct arrays_job *job, size_t threads)
{
    struct arrays_plan *plans = calloc(job->group_count + 1, sizeof *plans);
    size_t count = 0;
    double cost = 0;
    if (!plans)
        return fail_memory("arrays");
    for (size_t g = 0; g < job->group_count; g++) {
        plans[g] = plan_group(&job->groups[g], job);
        plans[g].before = count;
        count += job->groups[g].count;
        cost += plans[g].cost * (double)job->groups[g].count;
    }
    plans[job->group_count].before = count;
    enum status status = run(job, plans, threads, cost);
    free(plans);
    return status;
}
