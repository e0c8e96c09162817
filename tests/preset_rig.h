/* Presets of halo live in a test: folders and sounds of its own.
 *
 * Files are in command_folder(): in.wav is noise of two channels, mono.wav of one; half.txt,
 * quarter.txt, room.txt and hall.txt are masks. Errors fail the test.
 */
#ifndef HALO_TESTS_PRESET_RIG_H
#define HALO_TESTS_PRESET_RIG_H

#include <stddef.h>

/* In an empty folder, without presets. */
void preset_rig_begin(void);

/* As halo live would save it, of a stream with these options and stages; of two channels or of
 * `channels`. */
void preset_rig_make(const char *name, const char *stages);
void preset_rig_make_of(size_t channels, const char *name, const char *stages);

/* A preset's file, in a buffer; also while halo live runs, whose output another command would
 * take. */
const char *preset_rig_text(const char *name);

#endif
