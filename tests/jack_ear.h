/* A listener to what a program plays through JACK: a client, "ear", that records while the
 * test goes on, and feeds a loop to who records from it. PortAudio sees it as a device.
 *
 * For a signal in and what comes of it, frame by frame, there is jack_rig.h.
 */
#ifndef HALO_TESTS_JACK_EAR_H
#define HALO_TESTS_JACK_EAR_H

#include "signal/audio.h"

struct jack_ear;

/* `feed` may be NULL: silence; else it stays, has as many channels, and goes out over and over.
 * Up to `frames` are recorded. */
struct jack_ear *jack_ear_open(const struct block *feed, size_t channels, size_t frames);
void jack_ear_close(struct jack_ear *ear);

/* Wait until so many more frames are recorded; all there are now. */
size_t jack_ear_wait(struct jack_ear *ear, size_t frames);
size_t jack_ear_frames(const struct jack_ear *ear);
const float *jack_ear_channel(const struct jack_ear *ear, size_t channel);

#endif
