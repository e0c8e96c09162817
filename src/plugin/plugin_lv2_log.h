/* What an LV2 plugin logs: told by note() and note_detail(), except what it says while it
 * runs, which is kept for the control thread. */
#ifndef HALO_PLUGIN_LV2_LOG_H
#define HALO_PLUGIN_LV2_LOG_H

#include "base/status.h"

#include <lv2/log/log.h>

struct lv2_logbook;

/* `name` begins each line; it outlives the book. Errors: memory. */
MUST_CHECK enum status lv2_logbook_create(const char *name, struct lv2_logbook **book);
void lv2_logbook_destroy(struct lv2_logbook *book);

/* The feature's data. */
LV2_Log_Log *lv2_logbook_feature(struct lv2_logbook *book);

/* Real-time: what this thread logs from now on is kept: as much as there is room for. One
 * thread at a time runs. */
void lv2_logbook_hold(struct lv2_logbook *book, bool runs);

/* Tell what was kept; no thread runs meanwhile. */
void lv2_logbook_report(struct lv2_logbook *book);

/* From now on, until it is said otherwise, an error is not told but kept: the first, or NULL. */
void lv2_logbook_load(struct lv2_logbook *book, bool loads);
const char *lv2_logbook_trouble(const struct lv2_logbook *book);

/* Real-time, of the thread that runs: the first error that was kept, or NULL; stays. */
const char *lv2_logbook_complaint(const struct lv2_logbook *book);

#endif
