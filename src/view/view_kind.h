/* Shared by all views; for view*.c only. */
#ifndef HALO_VIEW_KIND_H
#define HALO_VIEW_KIND_H

#include "base/status.h"
#include "view/view.h"

struct view_kind {
    size_t size;               /* of the view, which starts with struct view; view.c allocates it */
    double interval;           /* default, seconds */
    bool (*is_possible)(void); /* does the terminal support it? NULL: always possible */
    enum status (*open)(struct view *view); /* NULL: nothing to do, as with close */
    void (*close)(struct view *view);
    void (*show)(struct view *view, const struct live_status *status); /* after view_visible */
    void (*message)(struct view *view, const char *text); /* any thread; NULL: a note */
    int (*key)(struct view *view);                        /* NULL: view.c reads the keys */
    int (*width)(void);                                   /* columns; NULL: any number */
    int (*height)(void);                                  /* rows; NULL: any number */
};

/* Standard input: a terminal in raw mode, or a pipe or file where each character is a key. */
struct view_keys {
    bool ended;
    unsigned char bytes[64]; /* read, not yet returned */
    size_t count;
};

/* The first member of every view. */
struct view {
    const struct view_kind *kind;
    double interval;
    bool interval_given;
    double next; /* when to show again; monotonic seconds */
    struct view_keys keys;
};

extern const struct view_kind view_screen, view_plain, view_json;

#endif
