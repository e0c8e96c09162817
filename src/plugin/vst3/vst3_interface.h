/* The parts of VST 3, the binary interface between a host and a plugin, that halo uses as host.
 * Source: the published interfaces (github.com/steinbergmedia/vst3_pluginterfaces, MIT licence).
 * Names are those of the interfaces in snake case: IEditController::getParamNormalized is
 * get_param_normalized of struct vst3_edit_controller. tests/vst3_layout.py compares this file with
 * the C++ headers if there are any.
 *
 * An object begins with a pointer to its table of functions. Each function takes the object first,
 * as a pointer to void. VST3_NO_INTERFACE and the codes below it are errors, VST3_OK is success. */
#ifndef HALO_VST3_INTERFACE_H
#define HALO_VST3_INTERFACE_H

#include <stdint.h>

enum { /* results */
       VST3_NO_INTERFACE = -1,
       VST3_OK,
       VST3_FALSE,
       VST3_INVALID_ARGUMENT,
       VST3_NOT_IMPLEMENTED,
       VST3_INTERNAL_ERROR,
       VST3_NOT_INITIALIZED,
       VST3_OUT_OF_MEMORY,
};

enum { VST3_TEXT = 128 }; /* units of a text in UTF-16, which ends with 0 */

/* The identifier of an interface or class. */
struct vst3_id {
    unsigned char bytes[16];
};

#define VST3_WORD(w)                                                                               \
    (unsigned char)((w) >> 24), (unsigned char)((w) >> 16), (unsigned char)((w) >> 8),             \
        (unsigned char)(w)
#define VST3_ID(a, b, c, d)                                                                        \
    {                                                                                              \
        {                                                                                          \
            VST3_WORD(a), VST3_WORD(b), VST3_WORD(c), VST3_WORD(d)                                 \
        }                                                                                          \
    }

/* The first functions of each object. */
#define VST3_UNKNOWN_CALLS                                                                         \
    int32_t (*query_interface)(void *self, const struct vst3_id *iid, void **object);              \
    uint32_t (*add_ref)(void *self);                                                               \
    uint32_t (*release)(void *self);

#define VST3_PLUGIN_BASE_CALLS                                                                     \
    VST3_UNKNOWN_CALLS                                                                             \
    int32_t (*initialize)(void *self, void *context);                                              \
    int32_t (*terminate)(void *self);

#define VST3_INTERFACE(name)                                                                       \
    struct name {                                                                                  \
        const struct name##_calls *calls;                                                          \
    };                                                                                             \
    struct name##_calls

VST3_INTERFACE(vst3_unknown){VST3_UNKNOWN_CALLS};

/* ---- the module ---- */

struct vst3_factory_info {
    char vendor[64], url[256], email[128];
    int32_t flags;
};

struct vst3_class_info {
    struct vst3_id cid;
    int32_t cardinality;
    char category[32], name[64];
};

struct vst3_class_info2 {
    struct vst3_id cid;
    int32_t cardinality;
    char category[32], name[64];
    uint32_t class_flags;
    char sub_categories[128], vendor[64], version[64], sdk_version[64];
};

#define VST3_AUDIO_MODULE_CLASS "Audio Module Class"

/* A factory may have the calls up to create_instance only, or up to get_class_info2. */
VST3_INTERFACE(vst3_plugin_factory3)
{
    VST3_UNKNOWN_CALLS
    int32_t (*get_factory_info)(void *self, struct vst3_factory_info *info);
    int32_t (*count_classes)(void *self);
    int32_t (*get_class_info)(void *self, int32_t index, struct vst3_class_info *info);
    int32_t (*create_instance)(void *self, const struct vst3_id *cid, const struct vst3_id *iid,
                               void **object);
    int32_t (*get_class_info2)(void *self, int32_t index, struct vst3_class_info2 *info);
    int32_t (*get_class_info_unicode)(void *self, int32_t index, void *info);
    int32_t (*set_host_context)(void *self, void *context);
};

/* ---- the component ---- */

enum { VST3_AUDIO, VST3_EVENT };  /* media */
enum { VST3_INPUT, VST3_OUTPUT }; /* directions */
enum { VST3_MAIN, VST3_AUX };     /* types of a bus */
enum { VST3_DEFAULT_ACTIVE = 1, VST3_IS_CONTROL_VOLTAGE = 2 /* flags of a bus */ };

struct vst3_bus_info {
    int32_t media_type, direction, channel_count;
    uint16_t name[VST3_TEXT];
    int32_t bus_type;
    uint32_t flags;
};

VST3_INTERFACE(vst3_component)
{
    VST3_PLUGIN_BASE_CALLS
    int32_t (*get_controller_class_id)(void *self, struct vst3_id *cid);
    int32_t (*set_io_mode)(void *self, int32_t mode);
    int32_t (*get_bus_count)(void *self, int32_t media, int32_t direction);
    int32_t (*get_bus_info)(void *self, int32_t media, int32_t direction, int32_t index,
                            struct vst3_bus_info *info);
    int32_t (*get_routing_info)(void *self, void *in, void *out);
    int32_t (*activate_bus)(void *self, int32_t media, int32_t direction, int32_t index,
                            uint8_t state);
    int32_t (*set_active)(void *self, uint8_t state);
    int32_t (*set_state)(void *self, void *stream);
    int32_t (*get_state)(void *self, void *stream);
};

/* ---- processing ---- */

enum { VST3_SAMPLE32, VST3_SAMPLE64 };
enum { VST3_REALTIME, VST3_PREFETCH, VST3_OFFLINE };

struct vst3_process_setup {
    int32_t process_mode, symbolic_sample_size, max_samples_per_block;
    double sample_rate;
};

struct vst3_audio_bus_buffers {
    int32_t num_channels;
    uint64_t silence_flags; /* bit c: channel c is silent */
    void **channel_buffers; /* floats, or doubles with VST3_SAMPLE64 */
};

enum { /* flags in process_context.state */
       VST3_PLAYING = 1 << 1,
       VST3_PROJECT_TIME_MUSIC_VALID = 1 << 9,
       VST3_TEMPO_VALID = 1 << 10,
       VST3_BAR_POSITION_VALID = 1 << 11,
       VST3_TIME_SIG_VALID = 1 << 13,
       VST3_CONT_TIME_VALID = 1 << 17,
};

struct vst3_chord {
    uint8_t key_note, root_note;
    int16_t chord_mask;
};

struct vst3_frame_rate {
    uint32_t frames_per_second, flags;
};

struct vst3_process_context {
    uint32_t state;
    double sample_rate;
    int64_t project_time_samples, system_time, continous_time_samples;
    double project_time_music, bar_position_music, cycle_start_music,
        cycle_end_music; /* quarters */
    double tempo;        /* quarters a minute */
    int32_t time_sig_numerator, time_sig_denominator;
    struct vst3_chord chord;
    int32_t smpte_offset_subframes;
    struct vst3_frame_rate frame_rate;
    int32_t samples_to_next_clock;
};

struct vst3_process_data {
    int32_t process_mode, symbolic_sample_size, num_samples, num_inputs, num_outputs;
    struct vst3_audio_bus_buffers *inputs, *outputs;
    void *input_parameter_changes, *output_parameter_changes; /* struct vst3_parameter_changes */
    void *input_events, *output_events;                       /* may be NULL */
    struct vst3_process_context *process_context;
};

VST3_INTERFACE(vst3_audio_processor)
{
    VST3_UNKNOWN_CALLS
    int32_t (*set_bus_arrangements)(void *self, uint64_t *inputs, int32_t input_count,
                                    uint64_t *outputs, int32_t output_count);
    int32_t (*get_bus_arrangement)(void *self, int32_t direction, int32_t index,
                                   uint64_t *arrangement);
    int32_t (*can_process_sample_size)(void *self, int32_t size);
    uint32_t (*get_latency_samples)(void *self);
    int32_t (*setup_processing)(void *self, struct vst3_process_setup *setup);
    int32_t (*set_processing)(void *self, uint8_t state);
    int32_t (*process)(void *self, struct vst3_process_data *data);
    uint32_t (*get_tail_samples)(void *self);
};

static const uint32_t VST3_INFINITE_TAIL = UINT32_MAX;

VST3_INTERFACE(vst3_param_value_queue)
{
    VST3_UNKNOWN_CALLS
    uint32_t (*get_parameter_id)(void *self);
    int32_t (*get_point_count)(void *self);
    int32_t (*get_point)(void *self, int32_t index, int32_t *offset, double *value);
    int32_t (*add_point)(void *self, int32_t offset, double value, int32_t *index);
};

VST3_INTERFACE(vst3_parameter_changes)
{
    VST3_UNKNOWN_CALLS
    int32_t (*get_parameter_count)(void *self);
    void *(*get_parameter_data)(void *self, int32_t index);
    void *(*add_parameter_data)(void *self, const uint32_t *id, int32_t *index);
};

/* ---- the controller ---- */

enum { /* flags of a parameter */
       VST3_CAN_AUTOMATE = 1,
       VST3_IS_READ_ONLY = 1 << 1,
       VST3_IS_LIST = 1 << 3,
       VST3_IS_HIDDEN = 1 << 4,
       VST3_IS_PROGRAM_CHANGE = 1 << 15,
       VST3_IS_BYPASS = 1 << 16,
};

struct vst3_parameter_info {
    uint32_t id;
    uint16_t title[VST3_TEXT], short_title[VST3_TEXT], units[VST3_TEXT];
    int32_t step_count; /* 0: continuous */
    double default_normalized_value;
    int32_t unit_id, flags;
};

VST3_INTERFACE(vst3_edit_controller)
{
    VST3_PLUGIN_BASE_CALLS
    int32_t (*set_component_state)(void *self, void *stream);
    int32_t (*set_state)(void *self, void *stream);
    int32_t (*get_state)(void *self, void *stream);
    int32_t (*get_parameter_count)(void *self);
    int32_t (*get_parameter_info)(void *self, int32_t index, struct vst3_parameter_info *info);
    int32_t (*get_param_string_by_value)(void *self, uint32_t id, double normalized,
                                         uint16_t *string);
    int32_t (*get_param_value_by_string)(void *self, uint32_t id, uint16_t *string,
                                         double *normalized);
    double (*normalized_param_to_plain)(void *self, uint32_t id, double normalized);
    double (*plain_param_to_normalized)(void *self, uint32_t id, double plain);
    double (*get_param_normalized)(void *self, uint32_t id);
    int32_t (*set_param_normalized)(void *self, uint32_t id, double value);
    int32_t (*set_component_handler)(void *self, void *handler);
    void *(*create_view)(void *self, const char *name);
};

enum { /* flags of restart_component */
       VST3_RELOAD_COMPONENT = 1,
       VST3_IO_CHANGED = 1 << 1,
       VST3_PARAM_VALUES_CHANGED = 1 << 2,
       VST3_LATENCY_CHANGED = 1 << 3,
};

VST3_INTERFACE(vst3_component_handler)
{
    VST3_UNKNOWN_CALLS
    int32_t (*begin_edit)(void *self, uint32_t id);
    int32_t (*perform_edit)(void *self, uint32_t id, double normalized);
    int32_t (*end_edit)(void *self, uint32_t id);
    int32_t (*restart_component)(void *self, int32_t flags);
};

struct vst3_unit_info { /* a group of parameters; the root has the id 0 */
    int32_t id, parent_unit_id;
    uint16_t name[VST3_TEXT];
    int32_t program_list_id;
};

VST3_INTERFACE(vst3_units) /* the first functions of IUnitInfo */
{
    VST3_UNKNOWN_CALLS
    int32_t (*get_unit_count)(void *self);
    int32_t (*get_unit_info)(void *self, int32_t index, struct vst3_unit_info *info);
};

/* ---- streams, messages, the host ---- */

enum { VST3_SEEK_SET, VST3_SEEK_CUR, VST3_SEEK_END };

VST3_INTERFACE(vst3_bstream)
{
    VST3_UNKNOWN_CALLS
    int32_t (*read)(void *self, void *buffer, int32_t size, int32_t *done);
    int32_t (*write)(void *self, void *buffer, int32_t size, int32_t *done);
    int32_t (*seek)(void *self, int64_t position, int32_t mode, int64_t *result);
    int32_t (*tell)(void *self, int64_t *position);
};

VST3_INTERFACE(vst3_connection_point)
{
    VST3_UNKNOWN_CALLS
    int32_t (*connect)(void *self, void *other);
    int32_t (*disconnect)(void *self, void *other);
    int32_t (*notify)(void *self, void *message);
};

VST3_INTERFACE(vst3_message)
{
    VST3_UNKNOWN_CALLS
    const char *(*get_message_id)(void *self);
    void (*set_message_id)(void *self, const char *id);
    void *(*get_attributes)(void *self);
};

VST3_INTERFACE(vst3_attribute_list)
{
    VST3_UNKNOWN_CALLS
    int32_t (*set_int)(void *self, const char *id, int64_t value);
    int32_t (*get_int)(void *self, const char *id, int64_t *value);
    int32_t (*set_float)(void *self, const char *id, double value);
    int32_t (*get_float)(void *self, const char *id, double *value);
    int32_t (*set_string)(void *self, const char *id, const uint16_t *string);
    int32_t (*get_string)(void *self, const char *id, uint16_t *string, uint32_t bytes);
    int32_t (*set_binary)(void *self, const char *id, const void *data, uint32_t bytes);
    int32_t (*get_binary)(void *self, const char *id, const void **data, uint32_t *bytes);
};

VST3_INTERFACE(vst3_host_application)
{
    VST3_UNKNOWN_CALLS
    int32_t (*get_name)(void *self, uint16_t *name);
    int32_t (*create_instance)(void *self, const struct vst3_id *cid, const struct vst3_id *iid,
                               void **object);
};

VST3_INTERFACE(vst3_event_handler)
{
    VST3_UNKNOWN_CALLS
    void (*on_fdis_set)(void *self, int fd);
};

VST3_INTERFACE(vst3_timer_handler)
{
    VST3_UNKNOWN_CALLS
    void (*on_timer)(void *self);
};

VST3_INTERFACE(vst3_run_loop)
{
    VST3_UNKNOWN_CALLS
    int32_t (*register_event_handler)(void *self, void *handler, int fd);
    int32_t (*unregister_event_handler)(void *self, void *handler);
    int32_t (*register_timer)(void *self, void *handler, uint64_t milliseconds);
    int32_t (*unregister_timer)(void *self, void *handler);
};

/* ---- identifiers of interfaces ---- */

static const struct vst3_id
    vst3_unknown_iid = VST3_ID(0x00000000u, 0x00000000u, 0xC0000000u, 0x00000046u),
    vst3_plugin_factory_iid = VST3_ID(0x7A4D811Cu, 0x52114A1Fu, 0xAED9D2EEu, 0x0B43BF9Fu),
    vst3_plugin_factory2_iid = VST3_ID(0x0007B650u, 0xF24B4C0Bu, 0xA464EDB9u, 0xF00B2ABBu),
    vst3_plugin_factory3_iid = VST3_ID(0x4555A2ABu, 0xC1234E57u, 0x9B122910u, 0x36878931u),
    vst3_component_iid = VST3_ID(0xE831FF31u, 0xF2D54301u, 0x928EBBEEu, 0x25697802u),
    vst3_audio_processor_iid = VST3_ID(0x42043F99u, 0xB7DA453Cu, 0xA569E79Du, 0x9AAEC33Du),
    vst3_param_value_queue_iid = VST3_ID(0x01263A18u, 0xED074F6Fu, 0x98C9D356u, 0x4686F9BAu),
    vst3_parameter_changes_iid = VST3_ID(0xA4779663u, 0x0BB64A56u, 0xB44384A8u, 0x466FEB9Du),
    vst3_edit_controller_iid = VST3_ID(0xDCD7BBE3u, 0x7742448Du, 0xA874AACCu, 0x979C759Eu),
    vst3_component_handler_iid = VST3_ID(0x93A0BEA3u, 0x0BD045DBu, 0x8E890B0Cu, 0xC1E46AC6u),
    vst3_units_iid = VST3_ID(0x3D4BD6B5u, 0x913A4FD2u, 0xA886E768u, 0xA5EB92C1u),
    vst3_bstream_iid = VST3_ID(0xC3BF6EA2u, 0x30994752u, 0x9B6BF990u, 0x1EE33E9Bu),
    vst3_connection_point_iid = VST3_ID(0x70A4156Fu, 0x6E6E4026u, 0x989148BFu, 0xAA60D8D1u),
    vst3_message_iid = VST3_ID(0x936F033Bu, 0xC6C047DBu, 0xBB0882F8u, 0x13C1E613u),
    vst3_attribute_list_iid = VST3_ID(0x1E5F0AEBu, 0xCC7F4533u, 0xA2544011u, 0x38AD5EE4u),
    vst3_host_application_iid = VST3_ID(0x58E595CCu, 0xDB2D4969u, 0x8B6AAF8Cu, 0x36A664E5u),
    vst3_event_handler_iid = VST3_ID(0x561E65C9u, 0x13A0496Fu, 0x813A2C35u, 0x654D7983u),
    vst3_timer_handler_iid = VST3_ID(0x10BDD94Fu, 0x41424774u, 0x821FAD8Fu, 0xECA72CA9u),
    vst3_run_loop_iid = VST3_ID(0x18C35366u, 0x97764F1Au, 0x9C5B8385u, 0x7A871389u);

#endif
