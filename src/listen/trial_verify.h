/* Checks the log of a finished blind test: the commitment must match the key, and the result must
 * follow from key and answers.
 *
 * Compare the log's commitment with the one noted before the test. If answers and result were both
 * changed, this cannot be detected.
 */
#ifndef HALO_TRIAL_VERIFY_H
#define HALO_TRIAL_VERIFY_H

#include "base/status.h"

/* *fault: NULL, or what is wrong (a constant). Errors: reading, not the log of a finished blind
 * test, memory. */
MUST_CHECK enum status trial_verify(const char *file, const char **fault);

#endif
