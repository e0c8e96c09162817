/* A listener to what a program plays on the device null: it records while the test goes on.
 *
 * The program is started with out=ear.wav, a FIFO in command_folder(). What cannot be done fails
 * the test. Threads: one of its own, which records.
 */
#ifndef HALO_TESTS_EAR_H
#define HALO_TESTS_EAR_H

#include <stddef.h>

struct ear;

/* Up to `frames` are recorded. To be opened before the program is started. */
struct ear *ear_open(size_t frames);
void ear_close(struct ear *ear); /* after the program's end */

/* Wait until so many more frames are recorded; all there are now. */
size_t ear_wait(struct ear *ear, size_t frames);
size_t ear_frames(const struct ear *ear);
const float *ear_channel(const struct ear *ear, size_t channel);

#endif
