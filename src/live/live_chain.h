/* The chain of a live stream, with several masks to choose from at one of its stages.
 *
 * The masks get a common time zero and as many outputs as the widest (mask_widen), and are prepared
 * for one convolver. A mask that is loaded later may have up to `capacity` taps. Masks that consist
 * of bands are equalisers, at any stage: their bands can be changed while they sound. Threads: the
 * control thread. */
#ifndef HALO_LIVE_CHAIN_H
#define HALO_LIVE_CHAIN_H

#include "chain/chain_options.h"
#include "chain/report.h"
#include "convolve/convolver.h"
#include "mask/mask.h"
#include "signal/eq_bands.h"

/* The masks that a stream can switch between, prepared for one convolver.
 *
 * The first choice is the mask that the convolver was created with. If a switch is requested during
 * another one, it follows; only the last request counts. Replacing a mask that sounds is a fade.
 * Choices count from 0. Threads: the control thread, which calls choices_poll often. */
struct choices;

/* How a switch is made: its length in frames and its shape. */
struct choices_way {
    uint64_t frames;
    enum switch_shape shape;
};

/* Switch now, or at frame `at` if that is later; see also CONVOLVER_HELD. */
void choices_ask(struct choices *choices, size_t choice, uint64_t at,
                 const struct choices_way *way);

/* Replaces a choice's mask. If the choice sounds, the new mask fades in; with `way` NULL it comes
 * in at the next choices_ask. `mask` may be destroyed afterwards. Errors (the old mask stays):
 * memory, a mask that does not fit, a switch in progress. */
MUST_CHECK enum status choices_replace(struct choices *choices, size_t choice,
                                       const struct mask *mask, const struct choices_way *way);

/* Advances switches. True: a switch ended that began at frame *at, and *choice sounds now. */
bool choices_poll(struct choices *choices, size_t *choice, uint64_t *at);

/* While no step runs: whether a switch to *choice began, at frame *at, and has not ended. */
bool choices_are_within_switch(const struct choices *choices, size_t *choice, uint64_t *at);

size_t choices_asked(const struct choices *choices);    /* the choice requested last */
size_t choices_sounding(const struct choices *choices); /* during a switch, the old choice */
bool choices_are_switching(const struct choices *choices);

enum { LIVE_CHOICES_MOST = 64 };
enum { LIVE_CAPACITY = 1 << 16 }; /* taps that a mask loaded later may have */

/* One of several sounds whose channels follow each other in the input of a chain. */
struct live_chain_sound {
    const char *name; /* must outlive the chain */
    size_t channels;
    struct channel_layout layout;
};

struct live_chain_request {
    const struct chain_options *options; /* must outlive the chain */
    size_t stage;                        /* index of the stage whose masks can be chosen */
    const char *const *others;           /* specs of the second choice and so on */
    size_t other_count;
    /* The choices are these sounds: each has a mask that passes the channels of this sound alone.
     * `stage` is a mask stage, whose own mask is not used. Must outlive the chain. */
    const struct live_chain_sound *sounds;
    size_t sound_count; /* 0: the choices are masks */
    size_t first;       /* choice that sounds at the start */
    size_t capacity;    /* taps that a mask loaded later may have; 0: the longest mask's now */
    size_t outputs;     /* least number of outputs of the masks */
    struct stream_format format;
    size_t block;
    int priority;                      /* real-time priority of the step; 0: none */
    bool live;                         /* the chain runs in real time */
    const struct proof_options *proof; /* must outlive the chain; NULL: none */
    int64_t frames;                    /* length of the sound, for `proof`; 0 or less: unknown */
    /* Called before masks are prepared. May replace masks, and then owns the originals. Or NULL. */
    enum status (*adapt)(void *context, struct mask **masks, size_t count);
    void *adapt_context;
    /* Each mask is there twice, so that a switch to the same mask is possible: choice i +
     * choice_count is choice i again. All masks are computed alike. */
    bool twice;
    bool equalises; /* Equalisers have room for EQ_TAPS_MOST taps, so that bands can be changed. */
    bool dry; /* Choice `choice_count` is the sound without a mask. Not together with `twice`. */
};

/* A mask stage whose bands can be changed. */
struct live_equaliser {
    bool is_one;
    struct choices *choices;  /* NULL: the stage is the one with the masks to choose from */
    struct eq_bands *waiting; /* bands to apply after the switch in progress, owned; NULL: none */
    char *text;               /* spec of `waiting`, owned; NULL: none */
    size_t choice;            /* choice whose mask `waiting` replaces */
    struct choices_way next;  /* way for `waiting` */
    struct choices_way way;   /* way of the last switch */
    bool is_changed;          /* the bands are not those of the chain's request */
    bool is_put;              /* choice `put` was replaced and not reported yet */
    size_t put;
};

struct live_chain {
    struct live_chain_request request;
    struct stage_list stages;
    struct workers *workers;
    struct filter *filter;
    struct channel_layout layout; /* layout of the chain's output */
    struct choices *choices;      /* NULL: no mask */
    size_t choice_count;
    const char *texts[LIVE_CHOICES_MOST];     /* spec of each choice's mask */
    const char *names[LIVE_CHOICES_MOST + 1]; /* names for messages; the last: of the dry sound */
    /* Without coefficients once prepared. The stage also uses masks[0]. */
    struct mask *masks[LIVE_CHOICES_MOST + 1];
    char *replaced[LIVE_CHOICES_MOST]; /* specs of masks that were loaded later; owned */
    size_t taps;                       /* taps that a mask may have at most */
    size_t origin;                     /* common time zero of the masks, in taps */
    struct stream_format mask_format;  /* input format of the stage whose masks can be chosen */
    uint64_t since;                    /* first frame of the stream that the chain processed */
    struct live_equaliser *equalisers; /* one for each stage; NULL: bands cannot be changed */
};

/* Errors: those of the stages and masks. Call live_chain_free in any case. */
MUST_CHECK enum status live_chain_init(struct live_chain *chain,
                                       const struct live_chain_request *request);
void live_chain_free(struct live_chain *chain);

/* Counts the outputs of a chain. Loads stages, prepares nothing. Errors: live_chain_init's. */
MUST_CHECK enum status live_chain_count_outputs(const struct live_chain_request *request,
                                                size_t *outputs);

/* Replaces a choice's mask by `mask`, which the chain then owns, even on failure. `text`: spec of
 * the new mask; NULL: the spec stays. Errors (the old mask stays): it does not fit, memory. */
MUST_CHECK enum status live_chain_put(struct live_chain *chain, size_t choice, const char *text,
                                      struct mask *mask, const struct choices_way *way);

/* The same for the mask of an equaliser's stage. The switch begins at frame `at` of the chain. */
MUST_CHECK enum status live_chain_put_at(struct live_chain *chain, size_t stage, const char *text,
                                         struct mask *mask, uint64_t at,
                                         const struct choices_way *way);

/* The masks of an equaliser at a stage (from 0) without choices. NULL: the stage is none. */
const struct choices *live_chain_equaliser(const struct live_chain *chain, size_t stage);

/* The bands that a stage (from 0) has, or gets after the switch in progress. NULL: the stage is no
 * equaliser, or the mask that was chosen last is none. Valid until the next change. */
const struct eq_bands *live_chain_bands(const struct live_chain *chain, size_t stage);

/* The spec of a choice at a stage, with the bands it gets after the switch in progress. A stage
 * without choices has choice 0. Valid until the next change. */
const char *live_chain_text(const struct live_chain *chain, size_t stage, size_t choice);

/* Gives an equaliser other bands, by a fade. They are limited to EQ_TAPS_MOST taps. If a switch is
 * in progress there, the bands follow; only the last ones count. Errors: no equaliser, memory. */
MUST_CHECK enum status live_chain_equalise(struct live_chain *chain, size_t stage,
                                           const struct eq_bands *bands,
                                           const struct choices_way *way);

/* Gives equalisers the bands that `old`, a chain with the same stages, has. */
void live_chain_carry_bands(struct live_chain *chain, const struct live_chain *old);

/* What happened at a stage, for the log of a recording. */
enum live_chain_event {
    LIVE_CHAIN_NOTHING,
    LIVE_CHAIN_PUT,       /* a choice's mask was replaced, and no switch to it has begun */
    LIVE_CHAIN_SWITCHED,  /* a switch to a choice ended */
    LIVE_CHAIN_EQUALISED, /* a switch to other bands ended, at a stage without choices */
};
struct live_chain_done {
    enum live_chain_event event;
    size_t choice;
    uint64_t at;            /* frame of the stream where the switch began */
    struct choices_way way; /* LIVE_CHAIN_EQUALISED */
};

/* Advances the switches of a stage. Call it often, until nothing happened. `is_over`: no step will
 * follow; a switch that has begun counts as ended. */
struct live_chain_done live_chain_advance(struct live_chain *chain, size_t stage, bool is_over);

/* Whether masks are being switched, at any stage. */
bool live_chain_is_switching(const struct live_chain *chain);

/* Number of masks in `masks`, including the one of the dry sound. */
size_t live_chain_mask_count(const struct live_chain *chain);

/* Index in `masks` of a choice. With `twice`, two choices have the same mask. */
size_t live_chain_mask_of(const struct live_chain *chain, size_t choice);

/* Latency of the mask stages, in frames. The latency of all stages is filter.latency. */
size_t live_chain_mask_latency(const struct live_chain *chain);

/* The convolver with the choices, or NULL. */
const struct filter *live_chain_convolver(const struct live_chain *chain);

#endif
