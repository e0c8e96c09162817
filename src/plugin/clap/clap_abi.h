/* The parts of CLAP 1.2, the binary interface between a host and a plugin, that halo uses as host
 * and as plugin. Source: the published specification (github.com/free-audio/clap). Names are the
 * specification's, without its typedefs. tests/clap_layout.py compares this file with the system's
 * <clap/clap.h> if there is one.
 *
 * Threads, in brackets: [main] the thread that made the plugin; [audio] one thread at a time, which
 * may change between calls; [any] any thread. */
#ifndef HALO_CLAP_ABI_H
#define HALO_CLAP_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLAP_NAME_SIZE = 256, CLAP_PATH_SIZE = 1024 };

#define CLAP_INVALID_ID UINT32_MAX

struct clap_version {
    uint32_t major, minor, revision; /* compatible from 1.0.0 on */
};

#define CLAP_VERSION_INIT {1, 2, 0}

/* ---- sound and events ---- */

struct clap_audio_buffer {
    float **data32; /* buffers by channel; data32 or data64 is NULL */
    double **data64;
    uint32_t channel_count;
    uint32_t latency;
    uint64_t constant_mask; /* bit c: all frames of channel c are equal; a hint */
};

enum { CLAP_CORE_EVENT_SPACE_ID = 0 };

enum {
    CLAP_EVENT_PARAM_VALUE = 5,
    CLAP_EVENT_PARAM_MOD = 6,
    CLAP_EVENT_PARAM_GESTURE_BEGIN = 7,
    CLAP_EVENT_PARAM_GESTURE_END = 8,
    CLAP_EVENT_TRANSPORT = 9,
};

struct clap_event_header {
    uint32_t size; /* bytes, with the header */
    uint32_t time; /* frame within the block */
    uint16_t space_id;
    uint16_t type;
    uint32_t flags;
};

struct clap_event_param_value {
    struct clap_event_header header;
    uint32_t param_id;
    void *cookie; /* cookie of clap_param_info, or NULL */
    int32_t note_id;
    int16_t port_index, channel, key; /* -1: all */
    double value;
};

enum { /* flags of a transport */
       CLAP_TRANSPORT_HAS_TEMPO = 1,
       CLAP_TRANSPORT_HAS_BEATS_TIMELINE = 2,
       CLAP_TRANSPORT_HAS_SECONDS_TIMELINE = 4,
       CLAP_TRANSPORT_HAS_TIME_SIGNATURE = 8,
       CLAP_TRANSPORT_IS_PLAYING = 16,
};

struct clap_event_transport {
    struct clap_event_header header;
    uint32_t flags;
    int64_t song_pos_beats, song_pos_seconds; /* times 2^31 */
    double tempo, tempo_inc;                  /* beats a minute, and the change in each frame */
    int64_t loop_start_beats, loop_end_beats, loop_start_seconds, loop_end_seconds;
    int64_t bar_start;
    int32_t bar_number;
    uint16_t tsig_num, tsig_denom;
};

struct clap_input_events { /* sorted by time */
    void *ctx;
    uint32_t (*size)(const struct clap_input_events *list);
    const struct clap_event_header *(*get)(const struct clap_input_events *list, uint32_t index);
};

struct clap_output_events {
    void *ctx;
    bool (*try_push)(const struct clap_output_events *list, const struct clap_event_header *event);
};

enum {
    CLAP_PROCESS_ERROR,
    CLAP_PROCESS_CONTINUE,
    CLAP_PROCESS_CONTINUE_IF_NOT_QUIET,
    CLAP_PROCESS_TAIL, /* process until the tail of clap_plugin_tail has ended */
    CLAP_PROCESS_SLEEP,
};

struct clap_process {
    int64_t steady_time; /* frames; -1: unknown */
    uint32_t frames_count;
    const struct clap_event_transport *transport; /* NULL: there is no transport */
    const struct clap_audio_buffer *audio_inputs; /* buffers by port */
    struct clap_audio_buffer *audio_outputs;
    uint32_t audio_inputs_count, audio_outputs_count;
    const struct clap_input_events *in_events;
    const struct clap_output_events *out_events;
};

/* ---- host, plugin and module ---- */

struct clap_host {
    struct clap_version clap_version;
    void *host_data;
    const char *name, *vendor, *url, *version;
    const void *(*get_extension)(const struct clap_host *host,
                                 const char *extension_id); /* [any] */
    void (*request_restart)(const struct clap_host *host);  /* [any] */
    void (*request_process)(const struct clap_host *host);  /* [any] */
    void (*request_callback)(const struct clap_host *host); /* [any] */
};

struct clap_plugin_descriptor {
    struct clap_version clap_version;
    const char *id, *name; /* not empty; the texts below may be NULL */
    const char *vendor, *url, *manual_url, *support_url, *version, *description;
    const char *const *features; /* the last is NULL */
};

struct clap_plugin {
    const struct clap_plugin_descriptor *desc;
    void *plugin_data;
    bool (*init)(const struct clap_plugin *plugin); /* [main], the first call; false: destroy it */
    void (*destroy)(const struct clap_plugin *plugin); /* [main], not active */
    bool (*activate)(const struct clap_plugin *plugin, double sample_rate,
                     uint32_t min_frames_count, uint32_t max_frames_count); /* [main] */
    void (*deactivate)(const struct clap_plugin *plugin);                   /* [main] */
    bool (*start_processing)(const struct clap_plugin *plugin);             /* [audio], active */
    void (*stop_processing)(const struct clap_plugin *plugin);              /* [audio] */
    void (*reset)(const struct clap_plugin *plugin);                        /* [audio], active */
    int32_t (*process)(const struct clap_plugin *plugin,
                       const struct clap_process *process); /* [audio], processing */
    const void *(*get_extension)(const struct clap_plugin *plugin, const char *id); /* [any] */
    void (*on_main_thread)(const struct clap_plugin *plugin); /* [main], after request_callback */
};

struct clap_plugin_entry { /* the symbol clap_entry of a module */
    struct clap_version clap_version;
    bool (*init)(const char *plugin_path);
    void (*deinit)(void);
    const void *(*get_factory)(const char *factory_id); /* [any] */
};

#define CLAP_PLUGIN_FACTORY_ID "clap.plugin-factory"

struct clap_plugin_factory { /* [any] */
    uint32_t (*get_plugin_count)(const struct clap_plugin_factory *factory);
    const struct clap_plugin_descriptor *(*get_plugin_descriptor)(
        const struct clap_plugin_factory *factory, uint32_t index);
    const struct clap_plugin *(*create_plugin)(const struct clap_plugin_factory *factory,
                                               const struct clap_host *host, const char *plugin_id);
};

/* ---- extensions ---- */

#define CLAP_EXT_AUDIO_PORTS "clap.audio-ports"
#define CLAP_PORT_MONO "mono"
#define CLAP_PORT_STEREO "stereo"

enum {
    CLAP_AUDIO_PORT_IS_MAIN = 1 << 0,
    CLAP_AUDIO_PORT_SUPPORTS_64BITS = 1 << 1,
    CLAP_AUDIO_PORT_PREFERS_64BITS = 1 << 2,
    CLAP_AUDIO_PORT_REQUIRES_COMMON_SAMPLE_SIZE = 1 << 3,
};

struct clap_audio_port_info {
    uint32_t id;
    char name[CLAP_NAME_SIZE];
    uint32_t flags;
    uint32_t channel_count;
    const char *port_type;  /* NULL or "": any */
    uint32_t in_place_pair; /* port of the other direction that may share buffers with this port */
};

enum { CLAP_AUDIO_PORTS_RESCAN_NAMES = 1 << 0 };

struct clap_host_audio_ports { /* [main] */
    bool (*is_rescan_flag_supported)(const struct clap_host *host, uint32_t flag);
    /* plugin not active, unless only names change */
    void (*rescan)(const struct clap_host *host, uint32_t flags);
};

struct clap_plugin_audio_ports { /* [main] */
    uint32_t (*count)(const struct clap_plugin *plugin, bool is_input);
    bool (*get)(const struct clap_plugin *plugin, uint32_t index, bool is_input,
                struct clap_audio_port_info *info);
};

#define CLAP_EXT_PARAMS "clap.params"

enum {
    CLAP_PARAM_IS_STEPPED = 1 << 0,
    CLAP_PARAM_IS_PERIODIC = 1 << 1,
    CLAP_PARAM_IS_HIDDEN = 1 << 2,
    CLAP_PARAM_IS_READONLY = 1 << 3,
    CLAP_PARAM_IS_BYPASS = 1 << 4,
    CLAP_PARAM_IS_AUTOMATABLE = 1 << 5,
    CLAP_PARAM_REQUIRES_PROCESS = 1 << 15,
    CLAP_PARAM_IS_ENUM = 1 << 16,
};

enum {
    CLAP_PARAM_RESCAN_VALUES = 1 << 0,
    CLAP_PARAM_RESCAN_TEXT = 1 << 1,
    CLAP_PARAM_RESCAN_INFO = 1 << 2,
    CLAP_PARAM_RESCAN_ALL = 1 << 3, /* plugin not active */
};

struct clap_param_info {
    uint32_t id;
    uint32_t flags;
    void *cookie;
    char name[CLAP_NAME_SIZE];
    char module[CLAP_PATH_SIZE];
    double min_value, max_value, default_value;
};

struct clap_plugin_params { /* [main], except flush */
    uint32_t (*count)(const struct clap_plugin *plugin);
    bool (*get_info)(const struct clap_plugin *plugin, uint32_t param_index,
                     struct clap_param_info *param_info);
    bool (*get_value)(const struct clap_plugin *plugin, uint32_t param_id, double *out_value);
    bool (*value_to_text)(const struct clap_plugin *plugin, uint32_t param_id, double value,
                          char *out_buffer, uint32_t out_buffer_capacity);
    bool (*text_to_value)(const struct clap_plugin *plugin, uint32_t param_id,
                          const char *param_value_text, double *out_value);
    void (*flush)(const struct clap_plugin *plugin, const struct clap_input_events *in,
                  const struct clap_output_events *out); /* active: [audio], otherwise [main] */
};

struct clap_host_params {
    void (*rescan)(const struct clap_host *host, uint32_t flags);                   /* [main] */
    void (*clear)(const struct clap_host *host, uint32_t param_id, uint32_t flags); /* [main] */
    void (*request_flush)(const struct clap_host *host); /* not [audio] */
};

#define CLAP_EXT_STATE "clap.state"

struct clap_istream {
    void *ctx;
    /* Returns the number of bytes read, perhaps fewer than `size`. 0: the end; -1: an error. */
    int64_t (*read)(const struct clap_istream *stream, void *buffer, uint64_t size);
};

struct clap_ostream {
    void *ctx;
    int64_t (*write)(const struct clap_ostream *stream, const void *buffer, uint64_t size);
};

struct clap_plugin_state { /* [main] */
    bool (*save)(const struct clap_plugin *plugin, const struct clap_ostream *stream);
    bool (*load)(const struct clap_plugin *plugin, const struct clap_istream *stream);
};

struct clap_host_state {
    void (*mark_dirty)(const struct clap_host *host); /* [main] */
};

#define CLAP_EXT_RENDER "clap.render"

enum { CLAP_RENDER_REALTIME, CLAP_RENDER_OFFLINE };

struct clap_plugin_render { /* [main] */
    bool (*has_hard_realtime_requirement)(const struct clap_plugin *plugin);
    bool (*set)(const struct clap_plugin *plugin, int32_t mode);
};

#define CLAP_EXT_NOTE_PORTS "clap.note-ports"

enum { CLAP_NOTE_DIALECT_CLAP = 1 << 0, CLAP_NOTE_DIALECT_MIDI = 1 << 1 };

struct clap_note_port_info {
    uint32_t id;
    uint32_t supported_dialects;
    uint32_t preferred_dialect;
    char name[CLAP_NAME_SIZE];
};

struct clap_plugin_note_ports { /* [main] */
    uint32_t (*count)(const struct clap_plugin *plugin, bool is_input);
    bool (*get)(const struct clap_plugin *plugin, uint32_t index, bool is_input,
                struct clap_note_port_info *info);
};

struct clap_host_note_ports { /* [main] */
    uint32_t (*supported_dialects)(const struct clap_host *host);
    void (*rescan)(const struct clap_host *host, uint32_t flags);
};

#define CLAP_EXT_LATENCY "clap.latency"

struct clap_plugin_latency {
    uint32_t (*get)(const struct clap_plugin *plugin); /* [main], active; frames */
};

struct clap_host_latency {
    void (*changed)(const struct clap_host *host); /* [main], within activate */
};

#define CLAP_EXT_TAIL "clap.tail"

struct clap_plugin_tail {
    uint32_t (*get)(const struct clap_plugin *plugin); /* frames; from INT32_MAX on: endless */
};

struct clap_host_tail {
    void (*changed)(const struct clap_host *host); /* [audio] */
};

#define CLAP_EXT_LOG "clap.log"

enum {
    CLAP_LOG_DEBUG,
    CLAP_LOG_INFO,
    CLAP_LOG_WARNING,
    CLAP_LOG_ERROR,
    CLAP_LOG_FATAL,
    CLAP_LOG_HOST_MISBEHAVING,
    CLAP_LOG_PLUGIN_MISBEHAVING,
};

struct clap_host_log {
    void (*log)(const struct clap_host *host, int32_t severity, const char *msg); /* [any] */
};

#define CLAP_EXT_THREAD_CHECK "clap.thread-check"

struct clap_host_thread_check {
    bool (*is_main_thread)(const struct clap_host *host);
    bool (*is_audio_thread)(const struct clap_host *host);
};

/* ---- presets ---- */

#define CLAP_EXT_PRESET_LOAD "clap.preset-load/2"
#define CLAP_EXT_PRESET_LOAD_COMPAT "clap.preset-load.draft/2"

enum { CLAP_PRESET_DISCOVERY_LOCATION_FILE, CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN };

struct clap_plugin_preset_load {
    bool (*from_location)(const struct clap_plugin *plugin, uint32_t location_kind,
                          const char *location, const char *load_key); /* [main] */
};

struct clap_host_preset_load { /* [main] */
    void (*on_error)(const struct clap_host *host, uint32_t location_kind, const char *location,
                     const char *load_key, int32_t os_error, const char *msg);
    void (*loaded)(const struct clap_host *host, uint32_t location_kind, const char *location,
                   const char *load_key);
};

#define CLAP_PRESET_DISCOVERY_FACTORY_ID "clap.preset-discovery-factory/2"
#define CLAP_PRESET_DISCOVERY_FACTORY_ID_COMPAT "clap.preset-discovery-factory/draft-2"

enum {
    CLAP_PRESET_DISCOVERY_IS_FACTORY_CONTENT = 1 << 0,
    CLAP_PRESET_DISCOVERY_IS_USER_CONTENT = 1 << 1,
};

struct clap_universal_plugin_id {
    const char *abi; /* "clap" */
    const char *id;
};

struct clap_preset_discovery_metadata_receiver {
    void *receiver_data;
    void (*on_error)(const struct clap_preset_discovery_metadata_receiver *receiver,
                     int32_t os_error, const char *error_message);
    bool (*begin_preset)(const struct clap_preset_discovery_metadata_receiver *receiver,
                         /* returns false: the provider stops */
                         const char *name, const char *load_key);
    void (*add_plugin_id)(const struct clap_preset_discovery_metadata_receiver *receiver,
                          const struct clap_universal_plugin_id *plugin_id);
    void (*set_soundpack_id)(const struct clap_preset_discovery_metadata_receiver *receiver,
                             const char *soundpack_id);
    void (*set_flags)(const struct clap_preset_discovery_metadata_receiver *receiver,
                      uint32_t flags);
    void (*add_creator)(const struct clap_preset_discovery_metadata_receiver *receiver,
                        const char *creator);
    void (*set_description)(const struct clap_preset_discovery_metadata_receiver *receiver,
                            const char *description);
    void (*set_timestamps)(const struct clap_preset_discovery_metadata_receiver *receiver,
                           uint64_t creation_time, uint64_t modification_time);
    void (*add_feature)(const struct clap_preset_discovery_metadata_receiver *receiver,
                        const char *feature);
    void (*add_extra_info)(const struct clap_preset_discovery_metadata_receiver *receiver,
                           const char *key, const char *value);
};

struct clap_preset_discovery_filetype {
    const char *name, *description;
    const char *file_extension; /* without the dot; NULL or "": every file */
};

struct clap_preset_discovery_location {
    uint32_t flags;
    const char *name;
    uint32_t kind;
    const char *location; /* file or folder; NULL for CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN */
};

struct clap_preset_discovery_soundpack {
    uint32_t flags;
    const char *id, *name, *description, *homepage_url, *vendor, *image_path;
    uint64_t release_timestamp;
};

struct clap_preset_discovery_provider_descriptor {
    struct clap_version clap_version;
    const char *id, *name, *vendor;
};

struct clap_preset_discovery_provider { /* one thread at a time */
    const struct clap_preset_discovery_provider_descriptor *desc;
    void *provider_data;
    bool (*init)(const struct clap_preset_discovery_provider *provider);
    void (*destroy)(const struct clap_preset_discovery_provider *provider);
    bool (*get_metadata)(const struct clap_preset_discovery_provider *provider,
                         uint32_t location_kind, const char *location,
                         const struct clap_preset_discovery_metadata_receiver *receiver);
    const void *(*get_extension)(const struct clap_preset_discovery_provider *provider,
                                 const char *extension_id);
};

struct clap_preset_discovery_indexer {
    struct clap_version clap_version;
    const char *name, *vendor, *url, *version;
    void *indexer_data;
    bool (*declare_filetype)(const struct clap_preset_discovery_indexer *indexer,
                             const struct clap_preset_discovery_filetype *filetype);
    bool (*declare_location)(const struct clap_preset_discovery_indexer *indexer,
                             const struct clap_preset_discovery_location *location);
    bool (*declare_soundpack)(const struct clap_preset_discovery_indexer *indexer,
                              const struct clap_preset_discovery_soundpack *soundpack);
    const void *(*get_extension)(const struct clap_preset_discovery_indexer *indexer,
                                 const char *extension_id);
};

struct clap_preset_discovery_factory { /* [any] */
    uint32_t (*count)(const struct clap_preset_discovery_factory *factory);
    const struct clap_preset_discovery_provider_descriptor *(*get_descriptor)(
        const struct clap_preset_discovery_factory *factory, uint32_t index);
    const struct clap_preset_discovery_provider *(*create)(
        const struct clap_preset_discovery_factory *factory,
        const struct clap_preset_discovery_indexer *indexer, const char *provider_id);
};

#endif
