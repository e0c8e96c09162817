/* Parts that the hosts of CLAP and VST3 share: libraries in a search path, the host's side of an
 * instance, the main thread of a live plugin, bytes of a state. */
#ifndef HALO_PLUGIN_HOST_H
#define HALO_PLUGIN_HOST_H

#include "plugin/plugin.h"

#include <stdatomic.h>

enum { PLUGIN_TEXT_MOST = 1024 /* bytes of a text of a plugin */ };

/* Copy a text of a plugin, at most PLUGIN_TEXT_MOST bytes; NULL and "" become NULL. False: memory.
 * */
bool plugin_text(const char *text, char **copy);

/* ---- libraries ---- */

/* A search path: the folders of a variable, then those of the system, each with its subfolders. */
struct plugin_search {
    const char *variable;
    const char *places; /* folders of the system, separated by colons */
    const char *ending; /* ending of a library's name, such as ".clap" */
    bool has_bundles;   /* libraries may be folders */
};

/* Visit libraries until `visit` returns true; *found says whether it did. Errors: memory. */
MUST_CHECK enum status plugin_search_each(const struct plugin_search *search,
                                          bool (*visit)(void *context, const char *path),
                                          void *context, bool *found);

/* Implements plugin_kind.list. A library hides libraries of the same name in later folders. */
MUST_CHECK enum status plugin_search_list(const struct plugin_search *search,
                                          const struct plugin_found *found);

/* ---- the host's side of an instance ---- */

enum { PLUGIN_ASKED_RESTART = 1 }; /* a bit of `asked`; the others belong to the kind */
enum { PLUGIN_COMPLAINT = 512 };

struct plugin_side {
    const char *name;           /* name of the plugin, for messages; not owned */
    atomic_uint asked;          /* requests of the plugin, as bits */
    atomic_bool is_active;      /* the plugin may process */
    bool is_processing;         /* belongs to the step */
    bool loads;                 /* a preset or state is being loaded: errors go to `trouble` */
    atomic_bool has_complained; /* only one complaint is kept */
    char trouble[PLUGIN_COMPLAINT];
    char text[PLUGIN_COMPLAINT];     /* text of the complaint */
    _Atomic(const char *) complaint; /* `text` once it is complete; NULL before */
};

/* Keep a complaint if it is the first. Any thread; real-time. */
void plugin_side_complain(struct plugin_side *side, const char *what);

/* Note whether an activation at a rate succeeded. A failure is `trouble` while the plugin loads,
 * else a complaint. Returns is_active. */
bool plugin_side_activated(struct plugin_side *side, bool is_active, const char *id, unsigned rate);

/* Take the requests except a restart. */
static inline unsigned plugin_side_take(struct plugin_side *side)
{
    return atomic_fetch_and(&side->asked, PLUGIN_ASKED_RESTART) & ~(unsigned)PLUGIN_ASKED_RESTART;
}

/* ---- buffers ---- */

/* The channels of all audio ports of one direction. For 64 bits the plugin gets copies. */
struct plugin_channels {
    size_t count, block;
    bool is_double;
    void **buffers;  /* float or double, by channel */
    double *doubles; /* count x block */
};

/* Keeps is_double; the rest of the struct is 0. Errors: memory. Call plugin_channels_free also after
 * an error. */
MUST_CHECK enum status plugin_channels_init(struct plugin_channels *channels, size_t count,
                                            size_t block);
void plugin_channels_free(struct plugin_channels *channels);

/* Real-time. Before a block: connect what the plugin reads, and what it writes. After it: get what
 * it wrote. */
void plugin_channels_read(struct plugin_channels *channels, const float *const *in, size_t frames);
void plugin_channels_write(struct plugin_channels *channels, float *const *out);
void plugin_channels_get(const struct plugin_channels *channels, float *const *out, size_t frames);

/* Real-time. Connect buffers of silence, of either size of samples. */
void plugin_channels_mute(struct plugin_channels *channels);

/* ---- values that a plugin changes by itself ---- */

struct plugin_edit {
    size_t parameter;
    double value;
};

/* Passes values of parameters from the main thread to the step, which may be the same thread. */
struct plugin_edits {
    size_t size;
    struct plugin_edit *ring;
    atomic_size_t added, taken;
};

/* `parameters`: their number. Errors: memory. */
MUST_CHECK enum status plugin_edits_init(struct plugin_edits *edits, size_t parameters);
void plugin_edits_free(struct plugin_edits *edits);

/* Real-time. False: there is no room until the step has taken values; or there is no value. */
bool plugin_edits_add(struct plugin_edits *edits, size_t parameter, double value);
bool plugin_edits_take(struct plugin_edits *edits, size_t *parameter, double *value);

/* ---- the main thread of a live plugin ---- */

/* A thread that carries out what the plugin asks for, while the step goes on. For a restart the two
 * take turns: the step stops processing, this thread restarts, the step starts with its next
 * block. */
struct plugin_service_calls {
    void (*attend)(void *instance, unsigned asked); /* carries out requests other than a restart */
    void (*restart)(void *instance);
    void (*stop)(void *instance); /* real-time, by the step: stop processing */
};

struct plugin_service;
MUST_CHECK enum status plugin_service_create(const struct plugin_service_calls *calls,
                                             void *instance, struct plugin_side *side,
                                             struct plugin_service **service);
void plugin_service_destroy(struct plugin_service *service); /* NULL is allowed */

/* Pause keeps the service's thread out of the plugin, so that the control thread can call it. */
void plugin_service_pause(struct plugin_service *service);
void plugin_service_resume(struct plugin_service *service);

/* Real-time: call before each block. False: do not process; the plugin is being restarted. */
bool plugin_service_admits(struct plugin_service *service);

/* ---- bytes of a state ---- */

enum { PLUGIN_STATE_MOST = 1 << 30 };

struct plugin_bytes {
    unsigned char *data; /* the owner frees it */
    size_t size, at;     /* `at`: where the next byte is read or written */
};

/* Returns the number of bytes: 0 at the end of what is read; `size` or -1 for what is written. */
int64_t plugin_bytes_read(struct plugin_bytes *bytes, void *to, uint64_t size);
int64_t plugin_bytes_write(struct plugin_bytes *bytes, const void *from, uint64_t size);

/* Write a state to a file in a folder, which is made if it is missing. Errors: the system's. */
MUST_CHECK enum status plugin_bytes_save(const struct plugin_bytes *bytes, const char *plugin,
                                         const char *folder, const char *name);

#endif
