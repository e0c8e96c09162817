/* Declarations that the files of the VST3 host share: modules, the objects of the host that a
 * plugin calls, parameters as ports, and an instance.
 *
 * Names and rules are those of the interfaces (vst3_interface.h). halo limits what it takes from a
 * plugin: counts, lengths of texts, bytes of its state.
 *
 * Threads. In files the processing thread also makes the plugin's main calls, between blocks. Live
 * a thread of the instance makes them (struct plugin_service). */
#ifndef HALO_PLUGIN_VST3_H
#define HALO_PLUGIN_VST3_H

#include "plugin/plugin_host.h"
#include "plugin/vst3/vst3_interface.h"

enum {
    VST3_CLASSES_MOST = 4096,    /* classes of a module */
    VST3_PARAMETERS_MOST = 8192, /* parameters of a plugin, with hidden ones */
    VST3_BUSES_MOST = 64,        /* buses in each direction */
    VST3_CHANNELS_MOST = 64,     /* channels of a bus */
    VST3_UNIT = 16,              /* bytes of a unit in texts */
    VST3_HEX = 2 * sizeof(struct vst3_id) + 1,
    VST3_UTF8 = 3 * VST3_TEXT, /* bytes of a text in UTF-8 */
};

/* Convert a text of a plugin, which may lack its end. */
void vst3_utf8(const uint16_t text[VST3_TEXT], char utf8[VST3_UTF8]);

/* ---- modules: plugin_vst3_module.c ---- */

/* A library that is loaded. Instances of its plugins share it. Threads: the control thread. */
struct vst3_module;

/* A class of a module that is a plugin. */
struct vst3_class {
    struct vst3_id cid;
    char name[65], vendor[65], category[129]; /* category: "Fx|Reverb"; "" if unknown */
    int32_t width;                            /* channels of the main buses; 0: the plugin's own */
};

/* Implements plugin_kind.list. */
MUST_CHECK enum status vst3_bundles(const struct plugin_found *found);

/* Load a bundle, or take it if it is loaded. Errors: it cannot be loaded; it is no VST3. */
MUST_CHECK enum status vst3_module_open(const char *path, struct vst3_module **module);
void vst3_module_close(struct vst3_module *module); /* NULL is allowed */

/* The path of the bundle. */
const char *vst3_module_path(const struct vst3_module *module);

/* The plugin after those before *next, or false. */
bool vst3_module_next(const struct vst3_module *module, int32_t *next, struct vst3_class *about);

/* Open the module of NAME, NAME.vst3 or PATH.vst3, and its class by the text after a colon: a name
 * or 32 hexadecimal digits. Without it the module's only plugin. #N at the end asks for N channels.
 * Errors: there is none; those of opening. */
MUST_CHECK enum status vst3_module_find(const char *text, struct vst3_module **module,
                                        struct vst3_class *about);

/* The text that vst3_module_find takes for a plugin of this module. Errors: memory. */
MUST_CHECK enum status vst3_module_id(const struct vst3_module *module,
                                      const struct vst3_class *about, char **id);

/* Make an object of a class. NULL: the module does not make it. */
void *vst3_module_make(const struct vst3_module *module, const struct vst3_id *cid,
                       const struct vst3_id *iid);

/* The identifier as 32 hexadecimal digits. */
void vst3_hex(const struct vst3_id *id, char hex[VST3_HEX]);

/* ---- objects of the host: plugin_vst3_host.c ---- */

/* Requests of a plugin beside PLUGIN_ASKED_RESTART, as bits. */
enum {
    VST3_ASKED_LATENCY = 2,
    VST3_ASKED_VALUES = 4, /* the plugin changed values of its parameters */
    VST3_ASKED_TELL = 8,   /* the component reported values, which the controller must get */
};

struct vst3_side {
    struct plugin_side common;
    struct vst3_component_handler handler; /* given to the controller */
    atomic_bool reloads;                   /* the restart that is asked for is to load it anew */
};

void vst3_side_init(struct vst3_side *side, const char *name);

/* Note that this thread is one of halo's, and makes calls of an instance or, with NULL, of none. A
 * latency that another thread reports is read without a restart: JUCE's plugins report from a
 * thread of their own, at any time, after the change. */
void vst3_thread_enter(const void *instance);

/* The instance, or NULL. */
const void *vst3_thread_instance(void);

/* A message or a list of attributes for a plugin. Returns a result. */
int32_t vst3_letter_make(const struct vst3_id *cid, const struct vst3_id *iid, void **object);

/* The context of plugins: struct vst3_host_application, which is a struct vst3_run_loop, too. In
 * plugin_vst3_loop.c. */
void *vst3_host(void);

/* Call the timers that are due, and the handlers of descriptors that can be read, of an instance
 * and of those that belong to no instance. On its main thread. */
void vst3_host_turn(const void *instance);

/* Forget the timers and descriptors of an instance that is gone; NULL: those of none. */
void vst3_host_forget(const void *instance);

/* A stream for a state, empty or of bytes that can only be read. The caller frees the bytes. */
struct vst3_stream {
    struct vst3_bstream object;
    struct plugin_bytes bytes;
    bool is_fixed;
};
struct vst3_stream vst3_stream(struct plugin_bytes bytes);

/* The values of a block by parameter: struct vst3_parameter_changes with one point a parameter. */
struct vst3_queue {
    struct vst3_param_value_queue object;
    uint32_t id;
    double value;
    bool is_new; /* the plugin set the value in the last block */
};
struct vst3_changes {
    struct vst3_parameter_changes object;
    int32_t count, size;
    struct vst3_queue *queues;
};

/* `size`: most parameters. Errors: memory. Call vst3_changes_free also after an error. */
MUST_CHECK enum status vst3_changes_init(struct vst3_changes *changes, size_t size);
void vst3_changes_free(struct vst3_changes *changes);

/* Real-time. Add a value. False: there is no room. */
bool vst3_changes_add(struct vst3_changes *changes, uint32_t id, double value);

/* ---- a component with its controller: plugin_vst3_host.c ---- */

struct vst3_handle {
    struct vst3_component *component;
    struct vst3_audio_processor *processor;
    struct vst3_edit_controller *controller; /* NULL: the plugin has none */
    bool is_apart;                           /* the controller is an object of its own */
    /* connection points of component and controller; NULL: they are not connected */
    struct vst3_connection_point *ends[2];
};

/* Make a plugin. If it refuses about->width, that becomes 0. Call vst3_handle_end also after an
 * error. Errors: the plugin fails. */
MUST_CHECK enum status vst3_handle_make(const struct vst3_module *module, struct vst3_class *about,
                                        struct vst3_side *side, struct vst3_handle *handle);
void vst3_handle_end(struct vst3_side *side, struct vst3_handle *handle); /* deactivates, too */

/* Let the controller know the values of the component. */
void vst3_handle_sync(const struct vst3_handle *handle);

/* ---- states: plugin_vst3_state.c ---- */

/* Get the state as the bytes of a .vstpreset file, which the caller frees. False: it failed. */
bool vst3_preset_take(const struct vst3_handle *handle, const struct vst3_id *cid,
                      struct plugin_bytes *file);

/* Give the bytes of a .vstpreset file to the plugin. Returns what is wrong with them, or no text.
 * */
struct flaw vst3_preset_give(const struct vst3_handle *handle, const struct vst3_id *cid,
                             const struct plugin_bytes *file);

/* Save the state in a folder, which is made. Errors: the plugin's or the system's. */
MUST_CHECK enum status vst3_state_save(const struct vst3_handle *handle, const struct vst3_id *cid,
                                       const char *name, const char *folder);

/* Load a state from such a folder, or a .vstpreset file. Errors: it cannot be read, it is damaged,
 * the plugin refuses it. */
MUST_CHECK enum status vst3_state_load(const struct vst3_handle *handle, const struct vst3_id *cid,
                                       const char *folder);
MUST_CHECK enum status vst3_state_load_file(const struct vst3_handle *handle,
                                            const struct vst3_id *cid, const char *path);

/* ---- descriptions: plugin_vst3_describe.c ---- */

/* How the values of a control become normalized values: linear, or through pairs of both. */
struct vst3_scale {
    double minimum, maximum; /* values of the control */
    double steps;            /* number of steps; 0: any value is possible */
    size_t count;            /* pairs; 0: linear */
    double *values;          /* values of the pairs; they ascend, and `normals` do */
    double *normals;
    bool has_texts; /* values are numbers of texts */
    char unit[VST3_UNIT];
};

MUST_CHECK enum status vst3_scale_init(struct vst3_scale *scale,
                                       struct vst3_edit_controller *controller,
                                       const struct vst3_parameter_info *about);
void vst3_scale_free(struct vst3_scale *scale);

/* Real-time. */
double vst3_scale_normal(const struct vst3_scale *scale, double value);
double vst3_scale_value(const struct vst3_scale *scale, double normal);

/* The normalized value as the plugin itself converts the value. On the main thread. */
double vst3_scale_exact(const struct vst3_scale *scale, struct vst3_edit_controller *controller,
                        uint32_t id, double value);

/* Get the next parameter from *next on that is a control. False: no more. */
bool vst3_parameter_next(struct vst3_edit_controller *controller, int32_t *next,
                         struct vst3_parameter_info *about);

/* Find the parameter that changes programs. False: there is none. */
bool vst3_program_parameter(struct vst3_edit_controller *controller,
                            struct vst3_parameter_info *about);

/* Implements plugin_kind.describe. */
MUST_CHECK enum status vst3_describe(const char *id, struct plugin_info **info);

#endif
