#include "live/web/responses.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/task.h"
#include "base/text_stream.h"
#include "live/session/live_session.h"
#include "live/session/present.h"
#include "plot/mask_curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 8, SECONDS_MOST = 10, VALUES = 600 /* of a curve */ };

static const float IMPULSE = 0.1f;
static const double UNHEARD = 1e-9, UNSEEN = 1e-4; /* parts of the peak */
static const double AROUND = 1e-3; /* seconds shown before the first and after the last seen tap */
static const int64_t PATIENCE_NS = 1000000000; /* ns that a block waits for an isolated plugin */

/* A measurement. */
struct job {
    struct task task;
    struct response_request request;
    uint64_t version;
    struct preset *preset;          /* the copy's stages */
    struct live_chain_request like; /* request for the copy, without `preset` */
    size_t origin;                  /* time zero of the live chain's masks */
    char *curves;                   /* result: members of the message; NULL: it failed */
    bool forgotten;                 /* the client has left */
};

struct kept {
    struct response_request request;
    uint64_t version;
    char *curves; /* NULL: nothing is kept here */
};

struct responses {
    size_t clients;
    struct response_request *waiting; /* by client; input 0: nothing waits */
    size_t next;                      /* client whose turn it is */
    struct job *job;                  /* NULL: nothing is being measured */
    struct kept kept[KEPT];
    size_t kept_next;
};

static void destroy_job(struct task *task)
{
    struct job *job = (struct job *)task;
    preset_destroy(job->preset);
    free(job->curves);
    free(job);
}

/* ---- the measuring thread: the impulse ---- */

/* Gives the masks of the copy the time zero of the live chain's. */
static enum status pad_masks(void *context, struct mask **masks, size_t count)
{
    size_t origin = *(size_t *)context;
    for (size_t i = 0; i < count; i++)
        if (masks[i]->origin < origin)
            TRY(mask_pad(masks[i], origin - masks[i]->origin));
    return STATUS_OK;
}

static enum status check_stages(struct stream_slot *slot)
{
    struct live_event event;
    if (slot->chain->failure)
        return fail(CAUSE_OTHER, "it failed: %s", slot->chain->failure);
    if (stream_slot_noticed(slot, &event))
        return fail(CAUSE_OTHER, "stage %zu does not answer", event.stage + 1);
    return STATUS_OK;
}

/* Plays the impulse and records the response. */
static enum status play(struct job *job, struct stream_slot *slot, struct mask *mask)
{
    struct block in, out = {0};
    size_t block = slot->chain->block;
    enum status status = block_init(&in, slot->chain->inputs, block, "a response");
    if (status == STATUS_OK)
        status = block_init(&out, slot->chain->outputs, block, "a response");
    for (size_t at = 0; at < mask->taps && status == STATUS_OK; at += block) {
        size_t count = mask->taps - at < block ? mask->taps - at : block;
        in.data[job->request.input - 1][0] = at == 0 ? IMPULSE : 0;
        slot->chain->deadline = monotonic_ns() + PATIENCE_NS;
        stream_slot_process(slot, (const float *const *)in.data, out.data);
        for (size_t i = 0; i < count; i++)
            mask->coefficients[at + i] =
                (double)out.data[job->request.output - 1][i] / (double)IMPULSE;
        status = atomic_load(&job->task.is_cancelled) ? STATUS_INTERRUPTED : check_stages(slot);
    }
    block_free(&in);
    block_free(&out);
    return status;
}

/* The first tap above a part of the peak, and the last one plus 1. 0 and 0 for silence. */
static void find_loud(const struct mask *mask, double part, size_t *first, size_t *end)
{
    double least = part * audio_peak_in_double(mask->coefficients, mask->taps);
    *first = *end = 0;
    for (size_t i = 0; i < mask->taps; i++)
        if (fabs(mask->coefficients[i]) > least) {
            *first = *end ? *first : i;
            *end = i + 1;
        }
}

static enum status measure(struct job *job, const struct live_chain *chain, struct mask **mask)
{
    const struct filter *filter = chain->filter;
    struct stream_slot slot;
    const struct stream_slot_settings settings = {
        .chain = chain->filter, .stages = &chain->stages, .gain = 1, .dry = !job->request.choice};
    uint64_t most = (uint64_t)SECONDS_MOST * job->like.format.rate;
    uint64_t taps = filter->latency + filter->tail + 1;
    size_t first, end;
    enum status status = stream_slot_init(&slot, &settings);
    if (status == STATUS_OK)
        status =
            mask_create("response", 1, filter->tail_unknown || taps > most ? most : taps, mask);
    if (status == STATUS_OK)
        status = play(job, &slot, *mask);
    stream_slot_free(&slot);
    TRY(status);
    find_loud(*mask, UNHEARD, &first, &end);
    (*mask)->taps = end ? end : 1;
    return STATUS_OK;
}

static enum status measure_copy(struct job *job, struct mask **mask)
{
    struct live_chain_request request = preset_chain_request(job->preset, &job->like);
    struct live_chain chain;
    request.adapt = pad_masks;
    request.adapt_context = &job->origin;
    enum status status = live_chain_init(&chain, &request);
    if (status == STATUS_OK)
        status = measure(job, &chain, mask);
    live_chain_free(&chain);
    return status;
}

/* ---- the measuring thread: the curves ---- */

/* Prints values with so many digits; null for gaps. */
static void print_values(const double *values, size_t count, int digits, FILE *stream)
{
    for (size_t i = 0; i < count; i++) {
        fputs(i ? "," : "[", stream);
        if (isfinite(values[i]))
            fprintf(stream, "%.*g", digits, values[i]);
        else
            fputs("null", stream);
    }
    fputs(count ? "]" : "[]", stream);
}

/* Prints a curve and frees it. `status`: of making it. */
static enum status print_curve(enum status status, const char *name, struct curve *curve,
                               FILE *stream)
{
    TRY(status);
    fprintf(stream, ",\"%s\":{\"x\":", name);
    print_values(curve->x, curve->count, 7, stream);
    fputs(",\"y\":", stream);
    print_values(curve->y, curve->count, 5, stream);
    fputc('}', stream);
    curve_free(curve);
    return STATUS_OK;
}

static enum status print_impulse(const struct mask *mask, uint32_t rate, FILE *stream)
{
    size_t first, end;
    struct curve curve;
    find_loud(mask, UNSEEN, &first, &end);
    const struct time_axis axis = {.from = fmax((double)first / rate - AROUND, 0),
                                   .to = (double)end / rate + AROUND,
                                   .points = VALUES / 2};
    return print_curve(curve_time(mask, 0, rate, TIME_CURVE_IMPULSE, &axis, &curve), "impulse",
                       &curve, stream);
}

static enum status print_curves(const struct mask *mask, uint32_t rate, FILE *stream)
{
    struct mask_spectrum spectrum;
    struct curve curve;
    TRY(mask_spectrum_init(&spectrum, mask, 0, rate));
    bool smooth = mask_spectrum_is_rough(&spectrum);
    fprintf(stream, "\"rate\":%u,\"delay\":%.9g", (unsigned)rate, spectrum.delay);
    spectrum.points = VALUES / 2;
    enum status status =
        print_curve(curve_magnitude(&spectrum, smooth, &curve), "magnitude", &curve, stream);
    if (status == STATUS_OK)
        status = print_curve(curve_phase(&spectrum, &curve), "phase", &curve, stream);
    if (status == STATUS_OK)
        status = print_curve(curve_group_delay(&spectrum, smooth, &curve), "group_delay", &curve,
                             stream);
    mask_spectrum_free(&spectrum);
    return status == STATUS_OK ? print_impulse(mask, rate, stream) : status;
}

static enum status make_curves(struct task *task)
{
    struct job *job = (struct job *)task;
    struct mask *mask = NULL;
    size_t size;
    realtime_flush_denormals();
    enum status status = measure_copy(job, &mask);
    if (status == STATUS_OK) {
        FILE *stream = text_stream_open(&job->curves, &size);
        if (stream)
            status = print_curves(mask, job->like.format.rate, stream);
        if (text_stream_finish(stream) != 0 && status == STATUS_OK)
            status = fail_memory("a response");
    }
    mask_destroy(mask);
    if (status != STATUS_OK) {
        free(job->curves);
        job->curves = NULL;
    }
    return status;
}

/* ---- the control thread: the copy ---- */

static const struct stage *choosing_stage(const struct live_chain *chain)
{
    return chain->choice_count > 0 ? &chain->stages.stages[chain->request.stage] : NULL;
}

static enum status check(const struct stream_session *stream,
                         const struct response_request *request)
{
    const struct live_chain *chain = &stream->chain;
    const struct stage *stage = choosing_stage(chain);
    size_t choices = stage ? chain->choice_count : 1;
    if (request->mask && !stage)
        return fail(CAUSE_USAGE, "the chain has no mask");
    if (request->choice > choices)
        return fail(CAUSE_USAGE, "there is no choice %zu: there are 0 to %zu", request->choice,
                    choices);
    size_t inputs = request->mask ? chain->mask_format.channels : chain->filter->inputs;
    size_t outputs = request->mask ? stage->outputs : chain->filter->outputs;
    if (request->input < 1 || request->input > inputs || request->output < 1 ||
        request->output > outputs)
        return fail(CAUSE_USAGE,
                    "there is no path from input %zu to output %zu: there are %zu to %zu",
                    request->input, request->output, inputs, outputs);
    return STATUS_OK;
}

/* Copies what the thread needs of the stream. */
static enum status describe_copy(struct job *job, const struct stream_session *stream)
{
    const struct live_chain *chain = &stream->chain;
    const struct stage *stage = choosing_stage(chain);
    struct play_options options = *stream->options;
    struct chain_options settings = options.chain;
    struct stage_list stages;
    settings.stages = (struct stage_list){0};
    settings.threads = 1;
    present_keep_to_cpu(&settings.settings.convolver);
    job->origin = chain->origin;
    job->like = chain->request;
    job->like.proof = NULL;
    job->like.priority = 0;
    job->like.capacity = 0;
    job->like.outputs = stage ? stage->outputs : 0;
    options.choosing = stage ? chain->request.stage : SIZE_MAX;
    options.other_count = 0;
    enum status status =
        present_stages(stream, job->request.choice ? job->request.choice - 1 : 0, &stages);
    options.chain.stages = stages;
    if (job->request.mask) {
        options.chain.stages.stages += options.choosing;
        options.chain.stages.count = 1;
        options.choosing = 0;
        job->like.format = chain->mask_format;
    }
    if (status == STATUS_OK)
        status = preset_of_options(&options, PRESET_OWN_MASK, &settings, &job->preset);
    present_stages_free(&stages);
    return status;
}

static enum status start(struct responses *responses, const struct stream_session *stream,
                         const struct response_request *request, uint64_t version)
{
    TRY(check(stream, request));
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return fail_memory("a response");
    job->request = *request;
    job->version = version;
    job->task.is_quiet = true; /* the live chain has printed the notes */
    enum status status = describe_copy(job, stream);
    if (status != STATUS_OK) {
        destroy_job(&job->task);
        return status;
    }
    TRY(task_start(&job->task, "halo response", "a response", make_curves, destroy_job));
    responses->job = job;
    return STATUS_OK;
}

/* ---- the control thread: requests and answers ---- */

enum status responses_create(size_t clients, struct responses **result)
{
    struct responses *responses = calloc(1, sizeof *responses);
    if (responses)
        responses->waiting = calloc(clients, sizeof *responses->waiting);
    if (!responses || !responses->waiting) {
        free(responses);
        return fail_memory("responses");
    }
    responses->clients = clients;
    *result = responses;
    return STATUS_OK;
}

void responses_destroy(struct responses *responses)
{
    if (!responses)
        return;
    if (responses->job)
        task_release(&responses->job->task);
    for (size_t i = 0; i < KEPT; i++)
        free(responses->kept[i].curves);
    free(responses->waiting);
    free(responses);
}

enum status responses_ask(struct responses *responses, const struct stream_session *stream,
                          const struct response_request *request)
{
    TRY(check(stream, request));
    responses->waiting[request->client] = *request;
    return STATUS_OK;
}

void responses_forget(struct responses *responses, unsigned client)
{
    responses->waiting[client].input = 0;
    if (responses->job && responses->job->request.client == client)
        responses->job->forgotten = true;
}

/* Makes the message of a result. `curves` NULL: there is none, and `reason` is set already. */
static void answer_with(struct response_answer *answer, const struct response_request *request,
                        const char *curves)
{
    size_t size;
    answer->client = request->client;
    answer->id = request->id;
    answer->text = NULL;
    if (!curves)
        return;
    FILE *stream = text_stream_open(&answer->text, &size);
    if (stream)
        fprintf(stream,
                "{\"event\":\"curves\",\"id\":%" JSON_INTEGER_FORMAT
                ",\"what\":\"%s\",\"choice\":%zu,\"input\":%zu,\"output\":%zu,%s}",
                request->id, request->mask ? "mask" : "chain", request->choice, request->input,
                request->output, curves);
    if (text_stream_finish(stream) == 0)
        return;
    free(answer->text);
    answer->text = NULL;
    strcpy(answer->reason, "there is no memory left for a response");
}

static const char *find_kept(const struct responses *responses,
                             const struct response_request *request, uint64_t version)
{
    for (size_t i = 0; i < KEPT; i++) {
        const struct kept *kept = &responses->kept[i];
        if (kept->curves && kept->version == version && kept->request.mask == request->mask &&
            kept->request.choice == request->choice && kept->request.input == request->input &&
            kept->request.output == request->output)
            return kept->curves;
    }
    return NULL;
}

/* Takes a finished measurement. False: its client has left. */
static bool take_job(struct responses *responses, struct response_answer *answer)
{
    struct job *job = responses->job;
    responses->job = NULL;
    strcpy(answer->reason, job->task.reason);
    answer_with(answer, &job->request, job->curves);
    bool is_wanted = !job->forgotten;
    if (!is_wanted)
        free(answer->text);
    if (job->curves) {
        struct kept *kept = &responses->kept[responses->kept_next++ % KEPT];
        free(kept->curves);
        *kept = (struct kept){job->request, job->version, job->curves};
        job->curves = NULL;
    }
    task_release(&job->task);
    return is_wanted;
}

/* Answers a request from what is kept, or starts to measure. True: there is an answer. */
static bool begin(struct responses *responses, const struct stream_session *stream,
                  const struct response_request *request, uint64_t version,
                  struct response_answer *answer)
{
    const char *curves = find_kept(responses, request, version);
    *answer->reason = '\0';
    if (!curves) {
        const struct log_keeper before = log_keep_in(answer->reason, sizeof answer->reason);
        enum status status = start(responses, stream, request, version);
        log_keep_again(&before);
        if (status == STATUS_OK)
            return false;
    }
    answer_with(answer, request, curves);
    return true;
}

bool responses_take(struct responses *responses, const struct stream_session *stream,
                    uint64_t version, struct response_answer *answer)
{
    if (responses->job && !task_is_done(&responses->job->task))
        return false;
    if (responses->job && take_job(responses, answer))
        return true;
    for (size_t i = 0; i < responses->clients && !responses->job; i++) {
        struct response_request *waiting =
            &responses->waiting[responses->next++ % responses->clients];
        const struct response_request request = *waiting;
        waiting->input = 0;
        if (request.input > 0 && begin(responses, stream, &request, version, answer))
            return true;
    }
    return false;
}
