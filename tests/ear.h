/* Records what a program plays on the device null while the test continues.
 *
 * Start the program with out=ear.wav, a FIFO in command_folder(). Errors fail the test. Threads:
 * starts one, which records.
 */
#ifndef HALO_TESTS_EAR_H
#define HALO_TESTS_EAR_H

#include <stddef.h>

struct ear;

/* Records at most `frames`. Open it before the program is started. */
struct ear *ear_open(size_t frames);
void ear_close(struct ear *ear); /* after the program has ended */

/* Wait until this many more frames are recorded; the number of frames recorded so far. */
size_t ear_wait(struct ear *ear, size_t frames);
size_t ear_frames(const struct ear *ear);
const float *ear_channel(const struct ear *ear, size_t channel);

#endif
