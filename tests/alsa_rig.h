/* ALSA as a test wants it: cards of software (simcard.c) or none at all.
 *
 * A configuration is written into command_folder() and named in the environment, for this
 * process and for what it starts. Paths of sounds are within that folder: raw float32,
 * interleaved. What cannot be written fails the test.
 */
#ifndef HALO_TESTS_ALSA_RIG_H
#define HALO_TESTS_ALSA_RIG_H

#include "signal/audio.h"

struct alsa_card {
    const char *name;
    const char *infile;   /* NULL: silence */
    const char *outfile;  /* NULL: kept nowhere */
    unsigned rate;        /* 0: 48000 */
    unsigned channels;    /* 0: 2 */
    unsigned long unplug; /* after so many frames the card is gone; 0: never */
};

/* ALSA has these cards and no other; the first is its default. Of none, ALSA's
 * default is a card that is not there. */
void alsa_rig_cards(const struct alsa_card *cards, size_t count);

void alsa_rig_save(const struct block *block, const char *name);
struct block alsa_rig_load(const char *name, size_t channels); /* the caller frees it */

#endif
