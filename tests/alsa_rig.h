/* ALSA configurations for tests: simulated cards (simcard.c) or no card at all.
 *
 * The configuration is written into command_folder() and named in the environment, for this
 * process and its children. Sound files are in that folder: raw float32, interleaved. Errors
 * fail the test.
 */
#ifndef HALO_TESTS_ALSA_RIG_H
#define HALO_TESTS_ALSA_RIG_H

#include "signal/audio.h"

struct alsa_card {
    const char *name;
    const char *infile;   /* NULL: silence */
    const char *outfile;  /* NULL: not kept */
    unsigned rate;        /* 0: 48000 */
    unsigned channels;    /* 0: 2 */
    double speed;         /* of its clock; 0: 1 */
    unsigned long unplug; /* the card is unplugged after this many frames; 0: never */
    int hangs;            /* 1: closing it then does not return; 2: nor does opening it */
};

/* Gives ALSA these cards and no other; the first is the default. With no cards the default is a
 * card that does not exist. */
void alsa_rig_cards(const struct alsa_card *cards, size_t count);

void alsa_rig_save(const struct block *block, const char *name);
struct block alsa_rig_load(const char *name, size_t channels); /* the caller frees it */

#endif
