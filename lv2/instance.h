/* One instance of a plugin: what its files share.
 *
 * Signal path: in -> pre-delay -> mask -> gain, in parallel to the dry sound; mixed to out. Without
 * a mask, or bypassed, the sound passes unchanged. There is no latency.
 *
 *   instance.c         the plugins, creation and end of an instance
 *   run.c              sound, in pieces of at most PROCESSOR_BLOCK frames
 *   pre_delay.c        the delay before the mask
 *   input_history.c    recent input, for a mask that is loaded later
 *   exchange.c         the exchange of masks, from the request to the fade
 *   worker.c           loads, prepares and frees masks
 *   messages.c         the path of the mask in and out of the atom ports
 *   state.c            and in and out of a session
 *
 * The worker creates the processor of a new mask, feeds it the history and stores it in `answer`;
 * run takes it from there, feeds it the last blocks and fades over. The worker frees the previous
 * processor. One exchange runs at a time; later requests wait.
 */
#ifndef HALO_LV2_INSTANCE_H
#define HALO_LV2_INSTANCE_H

#include "processor.h"
#include "signal/ramp.h"

#include <lv2/atom/forge.h>
#include <lv2/core/lv2.h>
#include <lv2/log/log.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/* ---- names and indices, as in plugin.ttl.in ---- */

#define HALO_LV2_URI "urn:halo:convolver"
#define HALO_LV2_MONO HALO_LV2_URI ":mono"
#define HALO_LV2_STEREO HALO_LV2_URI ":stereo"
#define HALO_LV2_TRUE_STEREO HALO_LV2_URI ":true-stereo"

/* The parameter, and the keys of the state. */
#define HALO_LV2_MASK HALO_LV2_URI "#mask" /* atom:Path */
#define HALO_LV2_TRIM HALO_LV2_URI "#trim" /* atom:Float, ms */

/* The mask of a bundle that includes one. */
#define HALO_LV2_BUNDLE_MASK "mask.wav"

enum port {
    PORT_CONTROL,
    PORT_NOTIFY,
    PORT_ENABLED,
    PORT_GAIN,
    PORT_MIX,
    PORT_PRE_DELAY,
    PORT_TRIM,
    PORT_PROCESSOR,
    PORT_LATENCY,
    PORT_AUDIO, /* the inputs, then the outputs */
};

enum backend_choice { BACKEND_AUTO, BACKEND_GPU };

struct urids {
    LV2_URID atom_float, atom_object, atom_path, atom_string, atom_urid;
    LV2_URID log_error, log_note;
    LV2_URID patch_get, patch_property, patch_set, patch_value;
    LV2_URID mask, trim;
};

/* ---- pre_delay.c: up to PRE_DELAY_MOST seconds, in whole frames; changes are crossfaded ---- */

enum { PRE_DELAY_MOST = 1 }; /* seconds */

struct pre_delay {
    struct block ring; /* a power of two of frames */
    size_t at;         /* where the next frame is written */
    size_t delay;      /* frames */
    size_t next;       /* the delay that is faded to */
    size_t faded;      /* frames of the fade that are done */
    size_t fade;       /* its length */
};

/* The owner frees `ring`. Errors: memory. */
MUST_CHECK enum status pre_delay_init(struct pre_delay *delay, size_t channels, uint32_t rate,
                                      size_t fade);

/* Forget all sound and end a fade. Not real-time. */
void pre_delay_reset(struct pre_delay *delay);

/* Real-time. Fade to a delay of `frames`, or change `at_once`; ignored during a fade, so that run
 * calls it for each piece. */
void pre_delay_set(struct pre_delay *delay, size_t frames, bool at_once);
void pre_delay_process(struct pre_delay *delay, float *const *sound, size_t frames);

/* ---- input_history.c: the last seconds of the input of the masks ----
 *
 * run() writes whole blocks of PROCESSOR_BLOCK frames; the worker reads well behind the newest and
 * well ahead of the next one to be overwritten. */

struct input_history {
    struct block frames;
    size_t blocks;                /* capacity, a power of two */
    atomic_uint_fast64_t end;     /* blocks written */
    atomic_uint_fast64_t silence; /* blocks before this one count as silence */
};

/* The owner frees `frames`. Errors: memory. */
MUST_CHECK enum status input_history_init(struct input_history *history, size_t channels,
                                          uint32_t rate);

/* Make it silence. Not real-time, and not while input_history_write runs. */
void input_history_reset(struct input_history *history);

/* Real-time, from run. */
void input_history_write(struct input_history *history, const float *const *block);

/* Real-time: feed a processor up to `most` of the blocks that it lacks. True: it lacks none now. */
bool input_history_feed(const struct input_history *history, struct processor *processor,
                        size_t most);

/* Feed a new processor, from as far back as its mask or the history reaches, except the last few
 * blocks, which are left to run. */
void input_history_prime(const struct input_history *history, struct processor *processor);

/* ---- the instance ---- */

enum { CHANNELS_MOST = 2, FILE_MOST = 4096 };

struct variant {
    LV2_Descriptor descriptor;
    size_t channels;
    bool may_cross;
};

struct mask_request {
    char file[FILE_MOST]; /* "": no mask */
    float trim;           /* ms */
    bool gpu;
};

/* What run asks of the worker: the message that the host carries. */
enum work_task { WORK_LOAD, WORK_FREE, WORK_NOTIFY };

struct work {
    enum work_task task;
    struct processor *processor; /* to free, or whose convolver has a notice */
    uint32_t number;             /* the rest is for WORK_LOAD: of the request */
    float trim;
    bool gpu;
    char file[FILE_MOST]; /* sent only as far as it is used */
};

/* The result of WORK_LOAD. The worker's until `ready`, then that of run until that is false. */
struct answer {
    atomic_bool ready;
    uint32_t number; /* of the request */
    bool failed;
    struct processor *processor; /* NULL: none was requested, or it failed */
    uint64_t silence;            /* history.silence when it was fed */
};

struct instance {
    const struct variant *variant;
    uint32_t rate;
    const LV2_URID_Map *map;             /* NULL: no messages and no state */
    const LV2_Worker_Schedule *schedule; /* NULL: masks come from the state only */
    const LV2_Log_Log *log;              /* NULL: failures are not reported */
    struct urids urids;
    LV2_Atom_Forge forge;

    /* Ports; any may be NULL. */
    const LV2_Atom_Sequence *control;
    LV2_Atom_Sequence *notify;
    const float *values[PORT_AUDIO];
    float *latency;
    const float *in[CHANNELS_MOST];
    float *out[CHANNELS_MOST];

    /* Used by run only. */
    size_t smoothing; /* frames of a change of gain */
    bool fresh;       /* no frame since activation: changes are immediate */
    struct block
        now;     /* input of the masks: the previous PROCESSOR_BLOCK frames, then the current */
    size_t held; /* frames of the current block so far */
    struct block dry;   /* of the current piece */
    struct block wet;   /* of the current piece */
    struct block other; /* of the current piece, from `coming` */
    struct pre_delay pre_delay;
    struct ramp feed; /* into the masks: 0 while bypassed */
    struct ramp dry_gain;
    struct ramp wet_gain;
    struct input_history history;
    struct processor *processor; /* the current one; NULL: no mask */

    /* The exchange; used by run only. */
    struct mask_request request;
    bool requested;           /* `request` is new and not sent yet */
    uint32_t number;          /* of the request that was sent */
    bool pending;             /* its answer is pending */
    struct processor *coming; /* replaces `processor` */
    bool fading;
    size_t faded;              /* frames of the fade that are done */
    size_t fade;               /* its length */
    bool leaving;              /* `processor` fades out, and none replaces it */
    struct processor *retired; /* to be freed */
    bool noticed;              /* the notice of the convolver has been sent to the worker */
    bool reporting;            /* the path of the mask is to be sent to the host */
    struct answer answer;

    /* Shared by the worker and state; run never takes the lock. */
    pthread_mutex_t lock;
    struct processor *processors; /* all that exist */
    char kept[FILE_MOST];         /* the mask to save in a session; "": none */
    float kept_trim;
};

/* ---- not real-time ---- */

/* worker.c */

void instance_log(const struct instance *instance, LV2_URID type, const char *text);

/* A processor that was fed the history, or NULL after logging why. */
struct processor *instance_make_processor(struct instance *instance, const char *file, float trim,
                                          bool gpu, uint64_t *silence);
void instance_free_processor(struct instance *instance, struct processor *processor);
void instance_keep(struct instance *instance, const char *file, float trim);

/* state.c: not while run runs. Make this the mask, also of the session; false if it cannot be
 * loaded: then there is none. */
bool instance_load(struct instance *instance, const char *file, float trim);

extern const LV2_Worker_Interface instance_worker;
extern const LV2_State_Interface instance_state;

/* ---- real-time ---- */

void instance_run(LV2_Handle handle, uint32_t frames); /* run.c */

/* exchange.c: before each run send requests and accept answers; after each whole block feed and
 * fade; after each run free and notify. */
void exchange_begin(struct instance *instance);
void exchange_block(struct instance *instance);
void exchange_end(struct instance *instance);

/* Whether a mask is in use and not leaving. */
bool exchange_has_mask(const struct instance *instance);

/* Not while run runs: replace all pending processors by this one, or by none (NULL). */
void exchange_install(struct instance *instance, struct processor *processor);

/* messages.c */
void messages_read(struct instance *instance);
void messages_write(struct instance *instance);

#endif
