/* The chain of a live stream, with masks to choose from at one of its stages.
 *
 * All masks of that stage are brought to one time zero and prepared for one convolver, whose
 * longest is known beforehand; one that comes later may be as long as `room` says.
 * Threads: the control thread.
 */
#ifndef HALO_LIVE_CHAIN_H
#define HALO_LIVE_CHAIN_H

#include "chain/chain_options.h"
#include "live/choices.h"

enum { LIVE_CHOICES_MOST = 64 };

struct live_chain_request {
    const struct chain_options *options; /* stays */
    size_t stage;                        /* the one with the choices */
    const char *const *others;           /* words of its second choice and so on */
    size_t other_count;
    size_t capacity; /* taps for masks to come; 0: no more than these */
    struct stream_format format;
    size_t block;
    int priority; /* real-time, of the step; 0: none */
    bool live;    /* blocks are waited for */
    /* May put other masks in the places of the choices, before they are prepared: what it finds
     * there it then owns. NULL: they stay. */
    enum status (*adapt)(void *context, struct mask **masks, size_t count);
    void *adapt_context;
    bool twice; /* choice i + choice_count is choice i again, so that a switch can lead to the same
                 */
};

struct live_chain {
    struct live_chain_request request;
    struct stage_list stages;
    struct workers *workers;
    struct filter *filter;
    struct choices *choices; /* NULL: there is no mask */
    size_t choice_count;
    const char *texts[LIVE_CHOICES_MOST];  /* words of each */
    const char *names[LIVE_CHOICES_MOST];  /* as a person knows them */
    struct mask *masks[LIVE_CHOICES_MOST]; /* without coefficients, once prepared; the stage has the
                                              first, too */
    char *replaced[LIVE_CHOICES_MOST];     /* words that came later */
    size_t taps;                           /* of the longest mask that may come */
    size_t origin;
    struct stream_format mask_format; /* of what comes to that stage */
};

/* Errors: whatever a stage or a mask finds wrong; free in any case. */
MUST_CHECK enum status live_chain_init(struct live_chain *chain,
                                       const struct live_chain_request *request);
void live_chain_free(struct live_chain *chain);

/* Read a choice's mask again, or (text not NULL) another one in its place. Errors: as for
 * any mask; the old one goes on. */
MUST_CHECK enum status live_chain_load(struct live_chain *chain, size_t choice, const char *text,
                                       const struct choices_way *way);

/* Frames that the mask stages make the sound late; the chain's filter has those of all. */
size_t live_chain_mask_latency(const struct live_chain *chain);

/* The convolver with the choices; NULL: there is none. */
const struct filter *live_chain_convolver(const struct live_chain *chain);

#endif
