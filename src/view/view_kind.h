/* What every kind of view is made of; for the view_*.c files only. */
#ifndef HALO_VIEW_KIND_H
#define HALO_VIEW_KIND_H

#include "base/status.h"
#include "view/live_status.h"
#include "view/view.h"
#include "view/view_keys.h"

struct view_kind {
    bool (*is_possible)(void); /* can the terminal carry it? NULL: any can */
    enum status (*open)(struct view **view);
    void (*show)(struct view *view, const struct live_status *status); /* already to be shown */
    void (*message)(struct view *view, const char *text);              /* any thread */
    void (*close)(struct view *view);                                  /* frees it */
    /* NULL, as is `close` then: view_keys.h reads the keys. */
    int (*key)(struct view *view);
    int (*key_fd)(const struct view *view);
    double interval; /* seconds, where none was asked for */
};

/* Every view begins with one. */
struct view {
    const struct view_kind *kind;
    double interval;
    bool interval_given;
    double next; /* when to show again; monotonic seconds */
    struct view_keys keys;
};

extern const struct view_kind view_screen, view_plain, view_json;

#endif
