/* Writes mask files in command_folder() and loads them. Masks are freed when the test ends. */
#ifndef HALO_TESTS_MASK_LOAD_H
#define HALO_TESTS_MASK_LOAD_H

#include "import/mask_load.h"

void mask_save(const char *name, const void *bytes, size_t size);
void mask_save_text(const char *name, const char *text);

/* The test fails unless it loads; options may be NULL. */
struct mask *mask_loaded(const char *name, const struct mask_load_options *options);

/* The same of a text, for a sound of this rate and these channels (0: unknown). */
struct mask *mask_loaded_text(const char *text, uint32_t rate, size_t channels);

/* Loading a file of this text must fail with a line that contains `expected`. */
void mask_refused(const char *name, const char *text, const char *expected);

/* Loads the mask of a spec of --mask as halo mask show does. Files are in command_folder().
 * `sound`: format of the sound to filter; NULL: unknown. The test fails unless the mask loads. */
struct mask *mask_of_spec(const char *spec, const struct stream_format *sound);

/* Notes and warnings of mask_of_spec, as lines. Valid until the next call. */
const char *mask_said(const char *spec, const struct stream_format *sound);

/* The test fails unless mask_of_spec would fail with this status (0: any) and a message that
 * contains `expected`. */
void mask_spec_refused(int status, const char *expected, const char *spec,
                       const struct stream_format *sound);

/* A column has these taps, to single precision, and zeros after them. */
void mask_expect_taps(const struct mask *mask, size_t column, size_t count, const double *taps);

/* There is one path from this input to this output (counted from 0), through a column of these
 * taps. */
void mask_expect_path(const struct mask *mask, size_t input, size_t output, size_t count,
                      const double *taps);

/* Magnitude of a column at a frequency in Hz, in dB. */
double mask_magnitude(const struct mask *mask, size_t column, double frequency);

#endif
