/* Declarations that all views share. Private to view*.c. */
#ifndef HALO_VIEW_KIND_H
#define HALO_VIEW_KIND_H

#include "base/status.h"
#include "view/view.h"

struct view_kind {
    size_t size;     /* bytes of the view, which starts with struct view; view.c allocates it */
    double interval; /* default interval, seconds */
    bool (*is_possible)(void); /* whether the terminal supports the view; NULL: always */
    enum status (*open)(struct view *view); /* opens the view; NULL: nothing to do */
    void (*close)(struct view *view);       /* closes the view; NULL: nothing to do */
    /* shows a status from view_visible */
    void (*show)(struct view *view, const struct live_status *status);
    void (*message)(struct view *view, const char *text); /* on any thread; NULL: print a note */
    int (*key)(struct view *view); /* returns the next key; NULL: view.c reads the keys */
    int (*width)(void);            /* columns; NULL: unlimited */
    int (*height)(void);           /* rows; NULL: unlimited */
};

/* Keys from standard input: a terminal in raw mode, or a pipe or file (a key per character). */
struct view_keys {
    bool ended;
    unsigned char bytes[64]; /* bytes that were read and not returned yet */
    size_t count;
};

/* The first member of every view. */
struct view {
    const struct view_kind *kind;
    double interval;
    bool interval_given;
    void (*hear)(void *context, bool is_warning, const char *text); /* see view_hear; or NULL */
    void *hear_context;
    double next; /* time of the next display, in monotonic seconds */
    struct view_keys keys;
};

extern const struct view_kind view_screen, view_plain, view_json;

#endif
