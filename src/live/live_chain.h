/* The chain of a live stream, with several masks to choose from at one of its stages.
 *
 * Those masks get a common time zero and as many outputs as the widest (mask_widen), and are
 * prepared for one convolver. One loaded later may be as long as `capacity`. Threads: the control
 * thread.
 */
#ifndef HALO_LIVE_CHAIN_H
#define HALO_LIVE_CHAIN_H

#include "chain/chain_options.h"
#include "chain/report.h"
#include "convolve/convolver.h"
#include "mask/mask.h"

/* The masks that a stream can switch between, prepared for one convolver.
 *
 * The first is the convolver's own. A switch requested during another one follows it; only the
 * last request counts. A mask can be replaced; if it sounds, the new one fades in.
 * Choices count from 0. Threads: the control thread, which calls choices_poll often.
 */
struct choices;

struct choices_way {
    uint64_t frames;
    enum switch_shape shape;
};

/* Switch now, or at frame `at` if that is later; see also CONVOLVER_HELD. */
void choices_ask(struct choices *choices, size_t choice, uint64_t at,
                 const struct choices_way *way);

/* Replace a choice's mask; if it sounds the new one fades in (`way` NULL: at the next
 * choices_ask). `mask` may be destroyed afterwards. Errors, which leave the old one: memory, a mask
 * that does not fit, a switch in progress. */
MUST_CHECK enum status choices_replace(struct choices *choices, size_t choice,
                                       const struct mask *mask, const struct choices_way *way);

/* Advance pending switches. True: the switch that began at frame *at ended, and *choice sounds. */
bool choices_poll(struct choices *choices, size_t *choice, uint64_t *at);

/* While no step runs: whether a switch to *choice has begun, at frame *at, and not ended. */
bool choices_are_within_switch(const struct choices *choices, size_t *choice, uint64_t *at);

size_t choices_asked(const struct choices *choices);    /* the last request */
size_t choices_sounding(const struct choices *choices); /* during a switch: the old one */
bool choices_are_switching(const struct choices *choices);

enum { LIVE_CHOICES_MOST = 64 };
enum { LIVE_CAPACITY = 1 << 16 }; /* taps of masks loaded later */

struct live_chain_request {
    const struct chain_options *options; /* must outlive the chain */
    size_t stage;                        /* with the choices */
    const char *const *others;           /* specs of the second choice and so on */
    size_t other_count;
    size_t first;    /* of the choices, which sounds at the start */
    size_t capacity; /* taps, for masks loaded later; 0: the longest of these */
    size_t outputs;  /* at least, of the masks */
    struct stream_format format;
    size_t block;
    int priority;                      /* real-time, of the step; 0: none */
    bool live;                         /* real-time */
    const struct proof_options *proof; /* must outlive the chain; NULL: none */
    int64_t frames;                    /* of the sound, for that; 0 or less: unknown */
    /* May replace masks before they are prepared, and then owns the originals. May be NULL. */
    enum status (*adapt)(void *context, struct mask **masks, size_t count);
    void *adapt_context;
    bool twice; /* choice i + choice_count is choice i again, for switches to the same mask, and all
                   masks are computed alike */
    bool dry;   /* choice `choice_count` is the sound without a mask; not beside `twice` */
};

struct live_chain {
    struct live_chain_request request;
    struct stage_list stages;
    struct workers *workers;
    struct filter *filter;
    struct channel_layout layout; /* of its output */
    struct choices *choices;      /* NULL: no mask */
    size_t choice_count;
    const char *texts[LIVE_CHOICES_MOST];      /* specs */
    const char *names[LIVE_CHOICES_MOST + 1];  /* for messages; the last: of the dry sound */
    struct mask *masks[LIVE_CHOICES_MOST + 1]; /* without coefficients once prepared; the stage
                                                  shares the first */
    char *replaced[LIVE_CHOICES_MOST];         /* specs of masks loaded later */
    size_t taps;                               /* of the longest possible mask */
    size_t origin;
    struct stream_format mask_format; /* input of that stage */
    uint64_t since;                   /* frame of the stream that was the chain's first */
};

/* Errors: whatever a stage or a mask finds wrong; free in any case. */
MUST_CHECK enum status live_chain_init(struct live_chain *chain,
                                       const struct live_chain_request *request);
void live_chain_free(struct live_chain *chain);

/* What a chain would make: the stages are loaded, and nothing is prepared. Errors: as above. */
MUST_CHECK enum status live_chain_count_outputs(const struct live_chain_request *request,
                                                size_t *outputs);

/* Replace a choice's mask by `mask`, which the chain owns from now on, also on failure; `text`: its
 * spec, NULL: that of the choice. Errors: it does not fit, memory; the old one stays. */
MUST_CHECK enum status live_chain_put(struct live_chain *chain, size_t choice, const char *text,
                                      struct mask *mask, const struct choices_way *way);

/* The masks of all choices, with the dry sound's. */
size_t live_chain_mask_count(const struct live_chain *chain);

/* Which of these a choice of `choices` is. */
size_t live_chain_mask_of(const struct live_chain *chain, size_t choice);

/* Latency of the mask stages, in frames; the filter has that of all stages. */
size_t live_chain_mask_latency(const struct live_chain *chain);

/* The convolver with the choices, or NULL. */
const struct filter *live_chain_convolver(const struct live_chain *chain);

#endif
