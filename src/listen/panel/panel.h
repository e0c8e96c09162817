/* halo listen test.yml: a listening test in a browser of this machine.
 *
 * The page is written to a temporary folder and served on 127.0.0.1 until its answers come. They
 * are saved as a file with their key, and reported. Threads: one. */
#ifndef HALO_PANEL_H
#define HALO_PANEL_H

#include "listen/panel/export.h"

struct panel_settings {
    const char *test;     /* path of the test file */
    const char *listener; /* NULL: the page asks for a name */
    const char *log;      /* file of the answers; NULL: TEST-LISTENER.json in the working folder */
    bool force;           /* replace the file */
    bool quiet;
    bool json;
};

/* Call stop_watch first. Errors: those of export_page, serve_run and collect_report; the file of
 * the answers exists (without `force`) or cannot be written; a signal. */
MUST_CHECK enum status panel_run(const struct panel_settings *settings);

#endif
