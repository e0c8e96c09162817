/* FFTW's wisdom (plans that were measured) in the user's cache folder.
 *
 * FFTW ends the program where wisdom is damaged. So a line stands in front of it, with halo's and
 * FFTW's version, the processor and a checksum of all; a file that differs in any of it, is not
 * this user's, is long or is no regular file is as good as none, and the next write replaces it.
 * Threads: one at a time, fft.c's lock.
 */
#ifndef HALO_FFT_WISDOM_H
#define HALO_FFT_WISDOM_H

#include <stdbool.h>
#include <stddef.h>

/* The wisdom within the text of such a file, 0-terminated as `text` is; NULL: not ours, or damaged.
 */
const char *fft_wisdom_check(const char *text, size_t size);

/* Take over what the file has; false: nothing. */
bool fft_wisdom_read(const char *path);

/* Write all that is known, with what another program may have written meanwhile; a file that has it
 * stays as it is. False: errno. */
bool fft_wisdom_write(const char *path);

#endif
