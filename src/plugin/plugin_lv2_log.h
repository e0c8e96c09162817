/* The log of an LV2 plugin: printed by note() and note_detail(), except while the plugin runs, when
 * it is kept for the control thread. */
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

/* Real-time: what this thread logs from now on is kept, as far as there is room. One thread at a
 * time runs the plugin. */
void lv2_logbook_hold(struct lv2_logbook *book, bool runs);

/* Print what was kept; no thread runs the plugin meanwhile. */
void lv2_logbook_report(struct lv2_logbook *book);

/* While `loads`, an error is kept instead of printed: the first one, or NULL. */
void lv2_logbook_load(struct lv2_logbook *book, bool loads);
const char *lv2_logbook_trouble(const struct lv2_logbook *book);

/* Real-time, of the thread that runs: the first error that was kept, or NULL; stays. */
const char *lv2_logbook_complaint(const struct lv2_logbook *book);

#endif
