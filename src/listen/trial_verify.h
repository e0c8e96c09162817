/* Checks the log of a finished blind test: that its key is the one the commitment was made
 * of, and that its result follows from that key and the answers in the log.
 *
 * Whoever noted the commitment before the test should compare it with the log's. What
 * cannot be seen is whether whoever held the log changed answers and result together.
 */
#ifndef HALO_TRIAL_VERIFY_H
#define HALO_TRIAL_VERIFY_H

#include "base/status.h"

/* *fault: NULL where all agrees, else what does not, in a few words (a constant). Errors:
 * the file cannot be read, is no log of a blind test, or of one that did not end; memory. */
MUST_CHECK enum status trial_verify(const char *file, const char **fault);

#endif
