/* One report on a test that several listeners took: in the terminal, or on a page. Threads: one. */
#ifndef HALO_COLLECT_H
#define HALO_COLLECT_H

#include "base/status.h"

struct collect_settings {
    const char *const *paths; /* logs, or answers of a page with their key */
    size_t count;
    bool json;        /* print one JSON object */
    const char *csv;  /* table of all trials to write; NULL: none */
    const char *plot; /* drawing of ratings to write; NULL: none */
    bool force;       /* replace existing files */
};

/* Checks all files and prints a report. Errors, without a report: a file is damaged, changed,
 * unfinished, of another test or there twice; answers have no key; an output exists (without
 * `force`); there are no ratings to draw; writing; memory. */
MUST_CHECK enum status collect_report(const struct collect_settings *settings);

#endif
