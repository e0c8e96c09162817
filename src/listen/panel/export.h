/* A listening test as a page in a folder, which a double click or any web server shows.
 *
 *   FOLDER/index.html, page.js   the page, the same for all tests
 *   FOLDER/test.js               halo_test({kind, title, ..., sounds, trials})
 *   FOLDER/data/01.js ...        halo_sound(0, {slots, pcm}), one for each sound
 *   FOLDER.key                   the key, which stays with the experimenter
 *
 * A trial names what it plays by random names, its slots, in random order. A sound's `slots` tells
 * which of its `pcm` each slot plays. Each pcm is 24-bit little-endian, interleaved, as base64; all
 * of a sound have the same length. So that equal sounds differ as text, byte i is combined (XOR)
 * with byte i of the words of a xorshift32 generator (13, 17, 5; little-endian; the first word is
 * the one after `mask`). A hidden reference or X is a copy of its own.
 * The key has the choice behind each slot. Its commitment, which the page has, is the SHA-256 of
 * "SALT KEY", where KEY is the key without salt and commitment as trial_log_text writes it.
 * Threads: one. */
#ifndef HALO_EXPORT_H
#define HALO_EXPORT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct export_settings {
    const char *test; /* path of the test file */
    const char *folder;
    const char *listener; /* the only listener; NULL: the page asks for a name */
    bool force;           /* replace a page and its key */
    bool quiet;           /* no progress */
};

/* Writes page and key, both or none. *trials: number of trials, or NULL. Errors: those of the test,
 * of rendering and writing; the folder exists (with `force`: and is no page). */
MUST_CHECK enum status export_page(const struct export_settings *settings, size_t *trials);

#endif
