/* A listening test as a file, test.yml.
 *
 *   test: mushra                  # abx, preference, mushra or bs1116
 *   title: Three rooms
 *   instructions: {en: Rate the quality., de: Bewerten Sie die Qualität.}
 *   languages: [en, de]
 *   sounds:
 *   - voice.wav
 *   - {file: drums.flac, name: drums, from: 2, to: 10}
 *   - {file: piano.wav, training: true}
 *   choices:
 *   - {name: original}
 *   - {name: hall, mask: hall.wav}
 *   - {name: plate, stages: [{lv2: "http://..."}, {gain: -3}]}
 *   - {name: mp3, file: "coded/{sound}.mp3"}
 *   reference: original           # or else the sound itself
 *   anchors: [3500, 7000]         # Hz, of mushra
 *   trials: 2
 *   remarks: true
 *   before:
 *   - {ask: Your age?, name: age}
 *   - {ask: Do you wear headphones?, name: headphones, answers: [yes, no]}
 *   after: []
 *   listeners: [anna, ben]
 *   match: r128
 *   align: true
 *
 * A choice's other members are options of halo render, as in a job of halo batch. A choice without
 * any is the sound itself. In `file`, {sound} stands for the name of the sound. A text that
 * listeners read is a string, or an object with a string for each language. Paths are relative to
 * the folder of the file. Threads: any.
 */
#ifndef HALO_TEST_FILE_H
#define HALO_TEST_FILE_H

#include "base/status.h"
#include "listen/level_match.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum test_kind { TEST_ABX, TEST_PREFERENCE, TEST_MUSHRA, TEST_BS1116 };
extern const char *const test_kind_names[]; /* Files use these names. The last is NULL. */

enum {
    TEST_CHOICES_MOST = 12, /* The reference and the anchors count. */
    TEST_SOUNDS_MOST = 100,
    TEST_REPEATS_MOST = 100,
};

struct test_sound {
    const char *name; /* unique */
    const char *file;
    double from, to; /* seconds; `to` 0: to the end */
    bool training;   /* its trials come first and do not count */
};

struct test_choice {
    const char *name; /* unique */
    const char *file; /* pattern of the files that are heard; NULL: the sound itself */
    json_t *render;   /* options of halo render, an object */
    double lowpass;   /* Hz: an anchor, the reference with a low-pass; 0: none */
};

/* All texts belong to `root`. */
struct listening_test {
    const char *path; /* not owned */
    json_t *root;
    enum test_kind kind;
    size_t sound_count, choice_count;
    struct test_sound sounds[TEST_SOUNDS_MOST];
    struct test_choice choices[TEST_CHOICES_MOST]; /* reference, the others, anchors */
    size_t reference;                              /* 0; SIZE_MAX: there is none */
    size_t repeats; /* `trials` of the file: how often each sound is judged */
    enum level_match_by match;
    bool align;
};

/* Reads a test. Call test_file_free in any case. Errors: no such file, no YAML, unknown, missing or
 * contradicting members; memory. */
MUST_CHECK enum status test_file_read(const char *path, struct listening_test *test);
void test_file_free(struct listening_test *test);

/* A trial. The first ones are those of training sounds.
 *   abx         choices[0] is A, [1] is B
 *   preference  each pair, `repeats` times
 *   mushra      all choices
 *   bs1116      choices[0] is the reference, [1] is graded */
struct test_trial {
    size_t sound;
    size_t choice_count;
    size_t choices[TEST_CHOICES_MOST];
    size_t pair, round; /* The pair or choice within the sound, and its repetition. */
};

/* Makes the list of trials, for free(). Errors: memory. */
MUST_CHECK enum status test_trials(const struct listening_test *test, struct test_trial **trials,
                                   size_t *count);

#endif
