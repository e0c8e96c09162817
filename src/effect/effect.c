#include "effect/effect.h"

#include "base/plain_locale.h"
#include "base/realtime.h"
#include "effect/processor.h"
#include "signal/ramp.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How masks are exchanged: the worker creates a mask's processor, feeds it the history, and posts
 * it as `answer`. run takes the processor, feeds it the last blocks and crossfades to it. The
 * worker then frees the previous one. Only one exchange runs at a time; later requests wait. */

/* ---- the delay before the mask, in whole frames; a change is a crossfade ---- */

enum { PRE_DELAY_MOST = 1 }; /* seconds */

struct pre_delay {
    struct block ring; /* ring whose length is a power of two */
    size_t at;         /* where the next frame is written */
    size_t delay;      /* the present delay in frames */
    size_t next;       /* the delay after the crossfade; without one, the same as `delay` */
    size_t faded;      /* frames of the crossfade so far */
    size_t fade;       /* frames of a crossfade */
};

static enum status pre_delay_init(struct pre_delay *delay, size_t channels, uint32_t rate,
                                  size_t fade)
{
    size_t frames = 1;
    while (frames <= (size_t)PRE_DELAY_MOST * rate)
        frames *= 2;
    *delay = (struct pre_delay){.fade = fade};
    return block_init(&delay->ring, channels, frames, "a plugin");
}

/* Crossfades to a delay of `frames`, or changes `at_once`. Does nothing during a crossfade. */
HALO_REALTIME static void pre_delay_set(struct pre_delay *delay, size_t frames, bool at_once)
{
    if (frames >= delay->ring.frames)
        frames = delay->ring.frames - 1;
    if (at_once)
        delay->delay = delay->next = frames;
    if (delay->delay != delay->next || frames == delay->delay)
        return;
    delay->next = frames;
    delay->faded = 0;
}

HALO_REALTIME static void run_channel(const struct pre_delay *delay, float *ring, float *sound,
                                      size_t frames)
{
    size_t mask = delay->ring.frames - 1, faded = delay->faded;
    bool changing = delay->delay != delay->next;
    for (size_t i = 0; i < frames; i++) {
        size_t at = delay->at + i;
        ring[at & mask] = sound[i];
        sound[i] = ring[(at - delay->delay) & mask];
        if (!changing)
            continue;
        float new = ring[(at - delay->next) & mask];
        float share = (float)(faded + i) / (float)delay->fade;
        sound[i] = share < 1 ? sound[i] + share * (new - sound[i]) : new;
    }
}

HALO_REALTIME static void pre_delay_process(struct pre_delay *delay, float *const *sound,
                                            size_t frames)
{
    for (size_t c = 0; c < delay->ring.channels; c++)
        run_channel(delay, delay->ring.data[c], sound[c], frames);
    delay->at += frames;
    if (delay->delay == delay->next)
        return;
    delay->faded += frames;
    if (delay->faded >= delay->fade)
        delay->delay = delay->next;
}

/* A message from run to the worker, carried by the host. */
enum work_task { WORK_LOAD, WORK_FREE, WORK_NOTIFY };

struct effect_work {
    enum work_task task;
    struct processor *processor; /* WORK_FREE: to free. WORK_NOTIFY: its convolver has a notice */
    uint32_t number;             /* WORK_LOAD: number of the request */
    /* WORK_LOAD: what to load, as in struct effect_mask. */
    float trim;
    bool gpu;
    char file[EFFECT_FILE_MOST]; /* only the used part is sent */
};

_Static_assert(sizeof(struct effect_work) <= EFFECT_WORK_MOST, "hosts make room for it");

/* An answer to run: a new mask. */
struct answer {
    uint32_t number; /* number of the request; not used if `unasked` */
    bool unasked;    /* made by effect_load, not by a request */
    bool failed;
    struct processor *processor; /* NULL: the request was for no mask, or it failed */
    uint64_t silence;            /* value of history.silence when the processor was fed */
    struct effect_mask mask;     /* `unasked` only: the mask in use from now on */
};

/* State of effect->answer. Only the thread that set ANSWER_WRITTEN or ANSWER_READ may access it. */
enum answer_state { ANSWER_NONE, ANSWER_WRITTEN, ANSWER_READY, ANSWER_READ };

struct effect {
    const struct effect_kind *kind;
    struct effect_host host;
    uint32_t rate;

    /* Members up to `reporting` are used by run only. */
    float values[EFFECT_CONTROLS];
    size_t smoothing; /* frames in which a gain changes */
    bool fresh;       /* no frame has been processed since activation; changes are immediate */
    struct block now; /* input of the masks: the previous PROCESSOR_BLOCK frames, and this block */
    size_t held;      /* frames of the current block so far */
    struct block dry; /* dry sound of the current piece */
    struct block wet; /* wet sound of the current piece, from `processor` */
    struct block other; /* wet sound of the current piece, from `coming` */
    struct pre_delay pre_delay;
    struct ramp feed; /* gain before the masks; 0 while bypassed */
    struct ramp dry_gain;
    struct ramp wet_gain;
    struct input_history history;
    struct processor *processor; /* the current one; NULL: no mask */

    struct effect_mask request; /* the mask requested last */
    bool requested;             /* `request` is new and not sent yet */
    _Atomic uint32_t number;  /* number of the last request that was sent; read by other threads */
    bool pending;             /* the worker has not answered the last request yet */
    struct processor *coming; /* replaces `processor` */
    bool fading;
    size_t faded;              /* frames of the crossfade to `coming` so far */
    size_t fade;               /* frames of a crossfade */
    bool leaving;              /* `processor` fades out, and there will be no mask */
    struct processor *retired; /* to be freed */
    bool noticed;              /* the worker was sent the notice of the convolver */
    bool reporting;            /* the host is to be told the path of the mask */

    /* Used by run and by other threads. */
    struct answer answer;
    _Atomic(enum answer_state) answer_state;
    atomic_uint_fast32_t tail; /* length of the tail, in frames */

    /* Threads that are not real-time share the members below. run never takes the lock. */
    pthread_mutex_t lock;
    struct processor *processors; /* list of all processors */
    char kept[EFFECT_FILE_MOST];  /* file of the mask to save in a session; "": none */
    float kept_trim;              /* trim of the mask to save, in ms */
};

/* ---- the exchange of masks: real-time, unless marked ---- */

static void free_processor(struct effect *effect, struct processor *processor)
{
    pthread_mutex_lock(&effect->lock);
    struct processor **at = &effect->processors;
    while (*at && *at != processor)
        at = &(*at)->next;
    if (*at)
        *at = processor->next;
    pthread_mutex_unlock(&effect->lock);
    processor_destroy(processor);
}

enum { CATCH_UP = 4 }; /* blocks that a new processor is fed per block of input */

/* ---- to the worker ---- */

HALO_REALTIME static bool send(const struct effect *effect, const struct effect_work *work,
                               size_t size)
{
    return effect->host.send && effect->host.send(effect->host.handle, work, size);
}

HALO_REALTIME static void ask(struct effect *effect)
{
    const struct effect_mask *request = &effect->request;
    struct effect_work work = {.task = WORK_LOAD,
                               .number = atomic_load(&effect->number) + 1,
                               .trim = request->trim,
                               .gpu = request->gpu};
    size_t length = strlen(request->file) + 1;
    memcpy(work.file, request->file, length);
    /* set before sending, since a host may do the work within send */
    atomic_store(&effect->number, work.number);
    effect->pending = true;
    effect->requested = false;
    if (send(effect, &work, offsetof(struct effect_work, file) + length))
        return;
    effect->pending = false;
    effect->requested = true; /* retry in the next run */
}

HALO_REALTIME static bool send_processor(const struct effect *effect, enum work_task task,
                                         struct processor *processor)
{
    const struct effect_work work = {.task = task, .processor = processor};
    return send(effect, &work, offsetof(struct effect_work, number));
}

/* ---- from the worker ---- */

HALO_REALTIME static void use_processor(struct effect *effect, struct processor *processor)
{
    effect->retired = effect->processor;
    effect->processor = processor;
    effect->coming = NULL;
    effect->fading = effect->leaving = effect->noticed = false;
}

/* Keeps the old mask, unless a new request was made meanwhile. */
HALO_REALTIME static void cancel_request(struct effect *effect)
{
    if (effect->requested)
        return;
    strcpy(effect->request.file, effect->processor ? effect->processor->file : "");
    effect->reporting = true;
}

/* A mask from effect_load replaces the last request. */
HALO_REALTIME static void replace_request(struct effect *effect, const struct answer *answer)
{
    atomic_fetch_add(&effect->number, 1);
    effect->requested = false;
    effect->request.trim = answer->mask.trim;
    effect->request.gpu = answer->mask.gpu;
    strcpy(effect->request.file, answer->mask.file);
    effect->reporting = true;
}

HALO_REALTIME static void use_answer(struct effect *effect, const struct answer *answer)
{
    if (answer->failed) {
        cancel_request(effect);
    } else if (!answer->processor) {
        effect->leaving = effect->processor != NULL;
    } else if (answer->silence != atomic_load(&effect->history.silence)) {
        /* useless: effect_reset dropped the sound that the processor was fed */
        effect->retired = answer->processor;
        effect->requested = true;
    } else {
        effect->coming = answer->processor;
        effect->fading = false;
        effect->reporting = true;
    }
}

HALO_REALTIME static bool has_answer(const struct effect *effect)
{
    return atomic_load(&effect->answer_state) == ANSWER_READY;
}

HALO_REALTIME static void take_answer(struct effect *effect)
{
    enum answer_state expected = ANSWER_READY;
    if (!atomic_compare_exchange_strong(&effect->answer_state, &expected, ANSWER_READ))
        return; /* another thread is replacing the answer */
    const struct answer *answer = &effect->answer;
    if (answer->unasked)
        replace_request(effect, answer);
    effect->pending = false;
    use_answer(effect, answer);
    atomic_store(&effect->answer_state, ANSWER_NONE);
}

HALO_REALTIME static bool is_changing(const struct effect *effect)
{
    return effect->coming || effect->leaving || effect->retired;
}

/* effect_begin and exchange_begin run before a run: they accept answers and send requests.
 * exchange_block feeds and crossfades after each block. exchange_end frees and notifies after a
 * run. */
HALO_REALTIME void effect_begin(struct effect *effect)
{
    if (!is_changing(effect) && has_answer(effect))
        take_answer(effect);
}

HALO_REALTIME static void exchange_begin(struct effect *effect)
{
    if (effect->host.send && effect->requested && !effect->pending && !is_changing(effect))
        ask(effect);
    effect_begin(effect); /* again, since a host may have done the work within send */
    if (!effect->fresh)
        return;
    if (effect->coming && input_history_feed(&effect->history, effect->coming, SIZE_MAX))
        use_processor(effect, effect->coming);
    else if (effect->leaving)
        use_processor(effect, NULL);
}

HALO_REALTIME static void exchange_block(struct effect *effect)
{
    if (effect->processor)
        (void)input_history_feed(&effect->history, effect->processor, 1);
    if (!effect->coming || !input_history_feed(&effect->history, effect->coming, CATCH_UP))
        return;
    if (effect->processor && !effect->fading) {
        effect->fading = true;
        effect->faded = 0;
    } else if (!effect->processor || effect->faded >= effect->fade) {
        use_processor(effect, effect->coming);
    }
}

HALO_REALTIME static void exchange_end(struct effect *effect)
{
    if (effect->leaving && effect->wet_gain.to == 0 && ramp_gain(&effect->wet_gain) == 0)
        use_processor(effect, NULL);
    const struct filter *tail = effect->processor ? effect->processor->tail : NULL;
    if (tail && tail->notice && !effect->noticed)
        effect->noticed = send_processor(effect, WORK_NOTIFY, effect->processor);
    if (effect->retired && send_processor(effect, WORK_FREE, effect->retired))
        effect->retired = NULL;
}

HALO_REALTIME bool effect_is_busy(const struct effect *effect)
{
    return effect->requested || effect->pending || is_changing(effect) || has_answer(effect);
}

/* ---- not real-time ---- */

/* Returns false if run reads the answer, or another thread writes it. */
static bool claim_answer(struct effect *effect, bool *replacing)
{
    enum answer_state expected = ANSWER_NONE;
    *replacing = false;
    if (atomic_compare_exchange_strong(&effect->answer_state, &expected, ANSWER_WRITTEN))
        return true;
    expected = ANSWER_READY;
    *replacing = true;
    return atomic_compare_exchange_strong(&effect->answer_state, &expected, ANSWER_WRITTEN);
}

/* Gives run an answer. An answer of effect_load replaces an answer that run has not taken yet; only
 * another one of effect_load can replace it. Returns false if the request of the answer was
 * replaced. *gone: a processor that nobody uses, for the caller to free. */
static bool exchange_post(struct effect *effect, const struct answer *answer,
                          struct processor **gone)
{
    bool replacing;
    while (!claim_answer(effect, &replacing))
        sched_yield(); /* copying an answer does not take long */
    bool is_late = !answer->unasked && ((replacing && effect->answer.unasked) ||
                                        answer->number != atomic_load(&effect->number));
    *gone = is_late ? answer->processor : replacing ? effect->answer.processor : NULL;
    if (!is_late)
        effect->answer = *answer;
    atomic_store(&effect->answer_state, is_late && !replacing ? ANSWER_NONE : ANSWER_READY);
    return !is_late;
}

/* While run does not run: frees the processors that it no longer needs. */
static void exchange_clean(struct effect *effect)
{
    struct processor *gone[] = {effect->coming, effect->retired};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (gone[i])
            free_processor(effect, gone[i]);
    effect->coming = effect->retired = NULL;
    effect->fading = false;
}

static void end_exchange(struct effect *effect)
{
    if (effect->coming || effect->leaving)
        use_processor(effect, effect->coming);
    exchange_clean(effect);
}

/* While run does not run: completes all exchanges at once. */
static void exchange_settle(struct effect *effect)
{
    end_exchange(effect);
    effect_begin(effect);
    end_exchange(effect);
}

/* ---- the worker: not real-time ---- */

static void log_line(const struct effect *effect, bool is_error, const char *line)
{
    if (effect->host.log)
        effect->host.log(effect->host.handle, is_error, line);
}

/* Creates a processor and feeds it the history. On failure logs why and returns NULL. */
static struct processor *make_processor(struct effect *effect, const char *file, float trim,
                                        bool gpu, uint64_t *silence)
{
    const struct processor_settings settings = {.file = file,
                                                .rate = effect->rate,
                                                .channels = effect->kind->channels,
                                                .may_cross = effect->kind->may_cross,
                                                .trim = 1e-3 * (double)trim,
                                                .gpu = gpu};
    struct processor *processor = NULL;
    char cause[1024] = "";
    struct plain_locale locale = plain_locale_begin();
    const struct log_keeper before = log_keep_in(cause, sizeof cause);
    enum status status = processor_create(&settings, &processor);
    log_keep_again(&before);
    plain_locale_end(locale);
    if (status != STATUS_OK) {
        log_line(effect, true, cause);
        return NULL;
    }
    if (*processor->remark)
        log_line(effect, false, processor->remark);
    *silence = atomic_load(&effect->history.silence);
    input_history_prime(&effect->history, processor);
    pthread_mutex_lock(&effect->lock);
    processor->next = effect->processors;
    effect->processors = processor;
    pthread_mutex_unlock(&effect->lock);
    return processor;
}

/* Gives run an answer. If run accepts it, the file `kept` (unless NULL) becomes the mask to save.
 * Both happen under the lock, so the saved mask is that of the last answer. */
static void deliver(struct effect *effect, const struct answer *answer, const char *kept,
                    float trim)
{
    struct processor *gone;
    pthread_mutex_lock(&effect->lock);
    if (exchange_post(effect, answer, &gone) && kept) {
        snprintf(effect->kept, sizeof effect->kept, "%s", kept);
        effect->kept_trim = trim;
    }
    pthread_mutex_unlock(&effect->lock);
    if (gone)
        free_processor(effect, gone);
}

static void load(struct effect *effect, const struct effect_work *work)
{
    struct answer answer = {.number = work->number};
    if (*work->file)
        answer.processor =
            make_processor(effect, work->file, work->trim, work->gpu, &answer.silence);
    answer.failed = *work->file && !answer.processor;
    deliver(effect, &answer, answer.failed ? NULL : work->file, work->trim);
}

/* Logs the notice of a processor, unless it has been freed by now. */
static void report(struct effect *effect, const struct effect_work *work)
{
    pthread_mutex_lock(&effect->lock);
    const struct processor *processor = effect->processors;
    while (processor && processor != work->processor)
        processor = processor->next;
    if (processor)
        log_line(effect, true, processor->tail->notice);
    pthread_mutex_unlock(&effect->lock);
}

void effect_work(struct effect *effect, const void *data, size_t size)
{
    struct effect_work work = {0};
    memcpy(&work, data, size < sizeof work ? size : sizeof work); /* `data` may be unaligned */
    if (work.task == WORK_LOAD)
        load(effect, &work);
    else if (work.task == WORK_FREE)
        free_processor(effect, work.processor);
    else
        report(effect, &work);
}

bool effect_load(struct effect *effect, const struct effect_mask *mask, enum effect_loading loading,
                 bool idle)
{
    struct answer answer = {.unasked = true, .mask = *mask};
    if (*mask->file)
        answer.processor =
            make_processor(effect, mask->file, mask->trim, mask->gpu, &answer.silence);
    bool loaded = answer.processor || !*mask->file;
    if (!loaded && loading == EFFECT_CHOOSE)
        return false;
    if (!loaded)
        *answer.mask.file = '\0';
    if (idle)
        exchange_clean(effect);
    deliver(effect, &answer, mask->file, mask->trim);
    return loaded;
}

/* ---- a block: real-time ---- */

HALO_REALTIME static void set_ramp(const struct effect *effect, struct ramp *ramp, float target)
{
    if (effect->fresh)
        ramp_init(ramp, target);
    else
        ramp_set(ramp, target, effect->smoothing);
}

HALO_REALTIME static size_t pre_delay_of(const struct effect *effect)
{
    return (size_t)lrint(1e-3 * (double)effect->values[EFFECT_PRE_DELAY] * effect->rate);
}

HALO_REALTIME static bool is_enabled(const struct effect *effect)
{
    return effect->values[EFFECT_ENABLED] > 0.5f;
}

HALO_REALTIME static void use_sound_controls(struct effect *effect)
{
    bool filters = is_enabled(effect) && effect->processor && !effect->leaving;
    float mix = effect->values[EFFECT_MIX];
    float gain = (float)audio_from_db((double)effect->values[EFFECT_GAIN]);
    set_ramp(effect, &effect->feed, is_enabled(effect) ? 1 : 0);
    set_ramp(effect, &effect->dry_gain, filters ? 1 - mix : 1);
    set_ramp(effect, &effect->wet_gain, filters ? mix * gain : 0);
    pre_delay_set(&effect->pre_delay, pre_delay_of(effect), effect->fresh);
}

HALO_REALTIME static void use_mask_controls(struct effect *effect)
{
    struct effect_mask *request = &effect->request;
    float trim = effect->values[EFFECT_TRIM];
    bool gpu = effect->values[EFFECT_PROCESSOR] > 0.5f;
    if (trim == request->trim && gpu == request->gpu)
        return;
    request->trim = trim;
    request->gpu = gpu;
    effect->requested = effect->requested || *request->file;
}

HALO_REALTIME static void blend(const struct effect *effect, size_t frames)
{
    for (size_t i = 0; i < frames; i++) {
        float share = (float)(effect->faded + i) / (float)effect->fade;
        for (size_t c = 0; c < effect->kind->channels; c++) {
            float old = effect->wet.data[c][i], new = effect->other.data[c][i];
            effect->wet.data[c][i] = share < 1 ? old + share * (new - old) : new;
        }
    }
}

HALO_REALTIME static bool is_wet(const struct effect *effect)
{
    return effect->wet_gain.to != 0 || ramp_gain(&effect->wet_gain) != 0;
}

HALO_REALTIME static void filter(struct effect *effect, float *const *now, size_t frames)
{
    const float *const *in = (const float *const *)now;
    if (!effect->processor || !is_wet(effect)) {
        block_silence(&effect->wet, 0, frames);
    } else {
        processor_write(effect->processor, in, effect->held, frames, effect->wet.data);
        if (effect->fading) {
            processor_write(effect->coming, in, effect->held, frames, effect->other.data);
            blend(effect, frames);
        }
    }
    effect->faded += frames;
}

/* Feeds the complete block to the masks, and keeps it as the previous block. */
HALO_REALTIME static void end_block(struct effect *effect)
{
    const float *block[EFFECT_CHANNELS_MOST];
    for (size_t c = 0; c < effect->kind->channels; c++)
        block[c] = effect->now.data[c] + PROCESSOR_BLOCK;
    input_history_write(&effect->history, block);
    exchange_block(effect);
    for (size_t c = 0; c < effect->kind->channels; c++)
        memcpy(effect->now.data[c], block[c], PROCESSOR_BLOCK * sizeof(float));
    effect->held = 0;
}

/* Processes a piece of a block. Inputs and outputs may share memory, so it reads inputs first. */
HALO_REALTIME static void run_piece(struct effect *effect, const float *const *in,
                                    float *const *out, size_t at, size_t frames)
{
    size_t channels = effect->kind->channels;
    float *now[EFFECT_CHANNELS_MOST];
    for (size_t c = 0; c < channels; c++) {
        now[c] = effect->now.data[c] + PROCESSOR_BLOCK + effect->held;
        memcpy(effect->dry.data[c], in[c] + at, frames * sizeof(float));
        memcpy(now[c], effect->dry.data[c], frames * sizeof(float));
    }
    pre_delay_process(&effect->pre_delay, now, frames);
    ramp_process(&effect->feed, channels, now, frames);
    filter(effect, now, frames);
    ramp_process(&effect->wet_gain, channels, effect->wet.data, frames);
    ramp_process(&effect->dry_gain, channels, effect->dry.data, frames);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < frames; i++)
            out[c][at + i] = effect->dry.data[c][i] + effect->wet.data[c][i];
    effect->held += frames;
    if (effect->held == PROCESSOR_BLOCK)
        end_block(effect);
}

HALO_REALTIME static void run_frames(struct effect *effect, const float *const *in,
                                     float *const *out, size_t frames)
{
    use_sound_controls(effect);
    effect->fresh = false;
    for (size_t at = 0, count; at < frames; at += count) {
        size_t capacity = PROCESSOR_BLOCK - effect->held;
        count = frames - at < capacity ? frames - at : capacity;
        run_piece(effect, in, out, at, count);
    }
}

/* The tail is that of the longest mask that sounds, after the longest pre-delay. */
HALO_REALTIME static void effect_update_tail(struct effect *effect)
{
    size_t taps = effect->processor ? effect->processor->taps : 0;
    if (effect->coming && effect->coming->taps > taps)
        taps = effect->coming->taps;
    const struct pre_delay *delay = &effect->pre_delay;
    size_t frames = delay->delay > delay->next ? delay->delay : delay->next;
    if (pre_delay_of(effect) > frames)
        frames = pre_delay_of(effect);
    atomic_store(&effect->tail,
                 taps && (is_enabled(effect) || is_wet(effect)) ? taps - 1 + frames : 0);
}

HALO_REALTIME void effect_run(struct effect *effect, const float *const *in, float *const *out,
                              size_t frames)
{
    struct realtime_floats before = realtime_floats_begin();
    use_mask_controls(effect);
    exchange_begin(effect);
    if (frames > 0)
        run_frames(effect, in, out, frames);
    exchange_end(effect);
    effect_update_tail(effect);
    realtime_floats_end(before);
}

/* ---- kinds and controls; creation and end: not real-time, unless marked ---- */

static const double SMOOTHING = 0.02; /* seconds in which gains and the pre-delay change */
static const double FADE = 0.05;      /* seconds of a crossfade between masks */

const struct effect_kind effect_kinds[EFFECT_VARIANTS] = {
    [EFFECT_MONO] = {.name = "mono",
                     .title = "halo convolver, mono",
                     .purpose = "Convolution of one channel",
                     .channels = 1},
    [EFFECT_STEREO] = {.name = "stereo",
                       .title = "halo convolver, stereo",
                       .purpose = "Convolution of each of two channels",
                       .channels = 2},
    [EFFECT_TRUE_STEREO] = {.name = "true-stereo",
                            .title = "halo convolver, true stereo",
                            .purpose = "Convolution of two channels by four paths",
                            .channels = 2,
                            .may_cross = true},
};

const struct effect_range effect_ranges[EFFECT_CONTROLS] = {
    [EFFECT_ENABLED] = {"enabled", 0, 1, 1},
    [EFFECT_GAIN] = {"gain", -90, 24, 0},
    [EFFECT_MIX] = {"mix", 0, 1, 1},
    [EFFECT_PRE_DELAY] = {"pre_delay", 0, 1000 * PRE_DELAY_MOST, 0},
    [EFFECT_TRIM] = {"trim", 0, 1000, 0},
    [EFFECT_PROCESSOR] = {"processor", 0, 1, 0},
};

static enum status make_buffers(struct effect *effect)
{
    size_t channels = effect->kind->channels;
    TRY(input_history_init(&effect->history, channels, effect->rate));
    TRY(pre_delay_init(&effect->pre_delay, channels, effect->rate, effect->smoothing));
    TRY(block_init(&effect->now, channels, 2 * PROCESSOR_BLOCK, "a plugin"));
    TRY(block_init(&effect->dry, channels, PROCESSOR_BLOCK, "a plugin"));
    TRY(block_init(&effect->wet, channels, PROCESSOR_BLOCK, "a plugin"));
    return block_init(&effect->other, channels, PROCESSOR_BLOCK, "a plugin");
}

enum status effect_create(const struct effect_kind *kind, uint32_t rate,
                          const struct effect_host *host, struct effect **result)
{
    struct effect *effect = calloc(1, sizeof *effect);
    if (!effect)
        return fail_memory("a plugin");
    pthread_mutex_init(&effect->lock, NULL);
    effect->kind = kind;
    effect->host = *host;
    effect->rate = rate;
    effect->smoothing = 1 + (size_t)(SMOOTHING * rate);
    effect->fade = 1 + (size_t)(FADE * rate);
    for (size_t c = 0; c < EFFECT_CONTROLS; c++)
        effect->values[c] = effect_ranges[c].initial;
    enum status status = make_buffers(effect);
    if (status != STATUS_OK)
        goto fail;
    effect_activate(effect);
    *result = effect;
    return STATUS_OK;
fail:
    effect_destroy(effect);
    return status;
}

void effect_destroy(struct effect *effect)
{
    if (!effect)
        return;
    while (effect->processors)
        free_processor(effect, effect->processors);
    block_free(&effect->history.frames);
    block_free(&effect->pre_delay.ring);
    block_free(&effect->now);
    block_free(&effect->dry);
    block_free(&effect->wet);
    block_free(&effect->other);
    pthread_mutex_destroy(&effect->lock);
    free(effect);
}

static void silence_processor(const struct effect *effect, struct processor *processor)
{
    if (!processor)
        return;
    processor_reset(processor);
    processor->fed = atomic_load(&effect->history.end);
}

void effect_reset(struct effect *effect)
{
    input_history_reset(&effect->history);
    block_silence(&effect->pre_delay.ring, 0, effect->pre_delay.ring.frames);
    effect->pre_delay.delay = effect->pre_delay.next;
    block_silence(&effect->now, 0, 2 * PROCESSOR_BLOCK);
    silence_processor(effect, effect->processor);
    silence_processor(effect, effect->coming);
    effect->held = 0;
    effect->fading = false;
    effect->fresh = true;
}

void effect_activate(struct effect *effect)
{
    exchange_settle(effect);
    effect_reset(effect);
    effect_update_tail(effect);
}

HALO_REALTIME void effect_set(struct effect *effect, enum effect_control control, float value)
{
    const struct effect_range *range = &effect_ranges[control];
    if (value != value)
        value = range->initial;
    effect->values[control] = value < range->least  ? range->least
                              : value > range->most ? range->most
                                                    : value;
}

HALO_REALTIME void effect_request(struct effect *effect, const char *file, size_t length)
{
    effect->reporting = true;
    if (length >= EFFECT_FILE_MOST)
        return;
    memcpy(effect->request.file, file, length);
    effect->request.file[length] = '\0';
    effect->requested = true;
}

HALO_REALTIME uint32_t effect_tail(const struct effect *effect)
{
    return (uint32_t)atomic_load(&effect->tail);
}

HALO_REALTIME void effect_report(struct effect *effect)
{
    effect->reporting = true;
}

/* The path of the last request, or of the old mask after a failed request. */
HALO_REALTIME const char *effect_reported(struct effect *effect, size_t most)
{
    if (!effect->reporting || strlen(effect->request.file) > most)
        return NULL;
    effect->reporting = false;
    return effect->request.file;
}

void effect_save(struct effect *effect, char file[EFFECT_FILE_MOST], float *trim)
{
    pthread_mutex_lock(&effect->lock);
    memcpy(file, effect->kept, EFFECT_FILE_MOST);
    *trim = effect->kept_trim;
    pthread_mutex_unlock(&effect->lock);
}
