/* One instance of a plugin: what its parts share.
 *
 * Signal path: in -> pre-delay -> mask -> gain, in parallel to the dry sound; mixed to out. Without
 * a mask, or bypassed, the sound passes unchanged. There is no latency.
 *
 *   instance.c    the plugins, their creation and end
 *   run.c         sound, in pieces of at most PROCESSOR_BLOCK frames
 *   exchange.c    the exchange of masks, from the request to the fade
 *   worker.c      loads, prepares and frees masks
 *   messages.c    the path of the mask in and out of the atom ports
 *   state.c       and in and out of a session
 *
 * The worker creates the processor of a new mask, feeds it the history and stores it in `answer`; run
 * takes it from there, feeds it the last blocks and fades over. The previous processor is freed by the
 * worker. One exchange runs at a time; later requests wait.
 */
#ifndef HALO_LV2_INSTANCE_H
#define HALO_LV2_INSTANCE_H

#include "names.h"
#include "input_history.h"
#include "pre_delay.h"
#include "signal/ramp.h"
#include "processor.h"

#include <lv2/core/lv2.h>
#include <lv2/log/log.h>
#include <lv2/state/state.h>
#include <lv2/worker/worker.h>

#include <pthread.h>
#include <stddef.h>

enum { CHANNELS_MOST = 2, FILE_MOST = 4096 };

struct variant {
    LV2_Descriptor descriptor;
    size_t channels;
    bool may_cross;
};

struct request {
    char file[FILE_MOST]; /* "": no mask */
    float trim;           /* ms */
    bool gpu;
};

/* What run asks of the worker: the message that the host carries. */
enum work_task { WORK_LOAD, WORK_FREE, WORK_TELL };

struct work {
    /* What run asks of the worker: the message that the host carries. */
    enum work_task task;
    struct processor *processor; /* to free, or whose convolver has something to tell */
    uint32_t number;     /* to load: of the wish, and the wish */
    float trim;
    bool gpu;
    char file[FILE_MOST]; /* sent no further than it goes */
};

/* The result of the worker. Its own until `ready`, then that of run until that is false again. */
struct answer {
    atomic_bool ready;
    uint32_t number; /* of the wish */
    bool failed;
    struct processor *processor; /* NULL: none is wished for, or it failed */
    uint64_t silence;    /* of the past that it heard */
};

struct instance {
    const struct variant *variant;
    uint32_t rate;
    const LV2_URID_Map *map;             /* NULL: there are no messages and no state */
    const LV2_Worker_Schedule *schedule; /* NULL: masks come by state alone */
    const LV2_Log_Log *log;              /* NULL: nobody hears of failures */
    struct urids urids;
    LV2_Atom_Forge forge;

    /* Ports; any may be NULL. */
    const LV2_Atom_Sequence *control;
    LV2_Atom_Sequence *notify;
    const float *values[PORT_AUDIO];
    float *latency;
    const float *in[CHANNELS_MOST];
    float *out[CHANNELS_MOST];

    /* Run's own. */
    size_t smoothing;   /* frames that a gain takes to change */
    bool fresh;         /* no frame has come since it was activated: changes are made at once */
    struct block now;   /* [PROCESSOR_BLOCK frames before, PROCESSOR_BLOCK that come in] of the masks' */
    size_t held;        /* frames that have */
    struct block dry;   /* of the current piece */
    struct block wet;   /* likewise */
    struct block other; /* of the processor that comes */
    struct pre_delay pre_delay;
    struct ramp feed; /* into the masks: 0 while the plugin is off */
    struct ramp dry_gain;
    struct ramp wet_gain;
    struct input_history history;
    struct processor *processor; /* that sounds; NULL: there is none */

    /* The exchange; run's own. */
    struct request request;
    bool requested;          /* it has changed and nobody was asked for it */
    uint32_t number;      /* of the wish that was asked for */
    bool asked;           /* and the answer is to come */
    struct processor *coming; /* takes over */
    bool fading;
    size_t faded;          /* frames of the way */
    size_t fade;           /* its length */
    bool leaving;          /* `processor` goes, and none comes */
    struct processor *retired; /* to be freed */
    bool noticed;          /* the worker tells what the processor's convolver has to tell */
    bool reporting;          /* the host shall know the mask's path */
    struct answer answer;

    /* Shared by the worker and state; run never takes the lock. */
    pthread_mutex_t lock;
    struct processor *processors; /* all there are */
    char kept[FILE_MOST]; /* the mask that a session should have; "" none */
    float kept_trim;
};

/* ---- not real-time ---- */

/* worker.c */

void instance_log(const struct instance *instance, LV2_URID type, const char *text);

/* A processor that heard the past, or NULL: why is in the log. */
struct processor *instance_make_processor(struct instance *instance, const char *file, float trim, bool gpu,
                                  uint64_t *silence);
void instance_free_processor(struct instance *instance, struct processor *processor);
void instance_keep(struct instance *instance, const char *file, float trim);

/* state.c: not beside run. The mask is the session's from now on; false where it cannot be had,
 * and then there is none. */
bool instance_load(struct instance *instance, const char *file, float trim);

extern const LV2_Worker_Interface instance_worker;
extern const LV2_State_Interface instance_state;

/* ---- real-time ---- */

void instance_run(LV2_Handle handle, uint32_t frames); /* run.c */

/* exchange.c: ask for what is wished, and take what has come; then, where the block is whole,
 * go on; then give back. */
void exchange_begin(struct instance *instance);
void exchange_block(struct instance *instance);
void exchange_end(struct instance *instance);

/* The mask sounds, or is to. */
bool exchange_has_mask(const struct instance *instance);

/* Not beside run: a processor, or NULL for none, comes in the place of all that are on their way. */
void exchange_install(struct instance *instance, struct processor *processor);

/* messages.c */
void messages_read(struct instance *instance);
void messages_write(struct instance *instance);

#endif
