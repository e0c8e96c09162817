/* halo spectrogram: pictures of sounds, in a file or in the terminal. */
#ifndef HALO_CMD_SPECTROGRAM_H
#define HALO_CMD_SPECTROGRAM_H

#include "base/status.h"

/* argv[0] is "spectrogram". */
MUST_CHECK enum status cmd_spectrogram(int argc, char **argv);

#endif
