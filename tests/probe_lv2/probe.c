#include "probe.h"

#include <lv2/atom/util.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/core/lv2.h>
#include <lv2/log/log.h>
#include <lv2/options/options.h>
#include <lv2/parameters/parameters.h>
#include <lv2/patch/patch.h>
#include <lv2/state/state.h>
#include <lv2/worker/worker.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    int magic;
    pthread_t runner;
};

enum { MAGIC = 0x0ddba11 };

struct probe {
    void *ports[PROBE_PORTS];
    const LV2_URID_Map *map;
    const LV2_Worker_Schedule *schedule;
    const LV2_Log_Log *log;
    float reported[PROBE_PORTS]; /* values of the control outputs */
    LV2_URID sequence, set, property, value, number, real, error, path, file;
};

static const void *feature(const LV2_Feature *const *features, const char *uri)
{
    for (; *features; features++)
        if (strcmp((*features)->URI, uri) == 0)
            return (*features)->data ? (*features)->data : "";
    return NULL;
}

static LV2_URID urid(const struct probe *probe, const char *uri)
{
    return probe->map->map(probe->map->handle, uri);
}

static float option(const struct probe *probe, const LV2_Options_Option *options, const char *key)
{
    for (; options->key; options++)
        if (options->key == urid(probe, key)) {
            int whole;
            float real;
            memcpy(&whole, options->value, sizeof whole);
            memcpy(&real, options->value, sizeof real);
            return options->type == urid(probe, LV2_ATOM__Int) ? (float)whole : real;
        }
    return PROBE_BAD;
}

static void read_options(struct probe *probe, const LV2_Options_Option *options, double rate)
{
    float most = option(probe, options, LV2_BUF_SIZE__maxBlockLength);
    float least = option(probe, options, LV2_BUF_SIZE__minBlockLength);
    float usual = option(probe, options, LV2_BUF_SIZE__nominalBlockLength);
    float sequence = option(probe, options, LV2_BUF_SIZE__sequenceSize);
    float reported = option(probe, options, LV2_PARAMETERS__sampleRate);
    bool agree = most == least && usual == least && sequence >= PROBE_NOTIFY_BYTES;
    probe->reported[PROBE_BLOCK] = agree ? most : PROBE_BAD;
    probe->reported[PROBE_RATE] = (double)reported == rate ? reported : PROBE_BAD;
}

static void read_promises(struct probe *probe, const LV2_Feature *const *features)
{
    static const struct {
        const char *uri;
        int promise;
    } known[] = {{LV2_BUF_SIZE__fixedBlockLength, PROBE_FIXED},
                 {LV2_BUF_SIZE__powerOf2BlockLength, PROBE_POWER_OF_2},
                 {LV2_CORE__isLive, PROBE_LIVE},
                 {LV2_STATE__loadDefaultState, PROBE_DEFAULT_STATE},
                 {LV2_BUF_SIZE__boundedBlockLength, PROBE_BOUNDED},
                 {"http://lv2plug.in/ns/ext/instance-access", PROBE_INSTANCE_ACCESS}};
    int promises = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        promises |= feature(features, known[i].uri) ? known[i].promise : 0;
    probe->reported[PROBE_PROMISES] = (float)promises;
}

/* A file in a nested folder. */
static void write_scratch(const LV2_State_Make_Path *make, const LV2_State_Free_Path *release)
{
    char *path = make->path(make->handle, "deep/down/scratch.txt");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file)
        fclose(file);
    release->free_path(release->handle, path);
}

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features)
{
    (void)descriptor, (void)bundle;
    struct probe *probe = calloc(1, sizeof *probe);
    probe->map = feature(features, LV2_URID__map);
    probe->schedule = feature(features, LV2_WORKER__schedule);
    probe->log = feature(features, LV2_LOG__log);
    probe->sequence = urid(probe, LV2_ATOM__Sequence);
    probe->set = urid(probe, LV2_PATCH__Set);
    probe->property = urid(probe, LV2_PATCH__property);
    probe->value = urid(probe, LV2_PATCH__value);
    probe->number = urid(probe, "urn:halo:probe:number");
    probe->file = urid(probe, "urn:halo:probe:file");
    probe->real = urid(probe, LV2_ATOM__Float);
    probe->path = urid(probe, LV2_ATOM__Path);
    probe->error = urid(probe, LV2_LOG__Error);
    read_options(probe, feature(features, LV2_OPTIONS__options), rate);
    read_promises(probe, features);
    write_scratch(feature(features, LV2_STATE__makePath), feature(features, LV2_STATE__freePath));
    return probe;
}

static void connect_port(LV2_Handle instance, uint32_t port, void *data)
{
    ((struct probe *)instance)->ports[port] = data;
}

static void activate(LV2_Handle instance)
{
    ((struct probe *)instance)->reported[PROBE_ACTIVATIONS]++;
}

static void read_messages(struct probe *probe)
{
    const LV2_Atom_Sequence *events = probe->ports[PROBE_CONTROL];
    if (events->atom.type != probe->sequence)
        probe->reported[PROBE_MESSAGES] = PROBE_BAD;
    LV2_ATOM_SEQUENCE_FOREACH(events, event)
    {
        const LV2_Atom_Object *object = (const LV2_Atom_Object *)&event->body;
        const LV2_Atom *property = NULL, *value = NULL;
        lv2_atom_object_get(object, probe->property, &property, probe->value, &value, 0);
        if (event->time.frames != 0 || object->body.otype != probe->set || !property || !value ||
            ((const LV2_Atom_URID *)property)->body != probe->number || value->type != probe->real)
            continue;
        probe->reported[PROBE_MESSAGES]++;
        probe->reported[PROBE_NUMBER] = ((const LV2_Atom_Float *)value)->body;
    }
}

static void measure(struct probe *probe, int port, uint32_t frames)
{
    const float *samples = probe->ports[port];
    for (uint32_t i = 0; i < frames; i++)
        probe->reported[PROBE_NOISE] = fmaxf(probe->reported[PROBE_NOISE], fabsf(samples[i]));
}

static void report(struct probe *probe)
{
    const LV2_Atom *notify = probe->ports[PROBE_NOTIFY];
    probe->reported[PROBE_CAPACITY] = (float)notify->size + (float)sizeof *notify;
    probe->reported[PROBE_RUNS]++;
    for (int i = PROBE_BLOCK; i < PROBE_PORTS; i++)
        *(float *)probe->ports[i] = probe->reported[i];
}

static void run(LV2_Handle instance, uint32_t frames)
{
    struct probe *probe = instance;
    measure(probe, PROBE_SIDE, frames);
    measure(probe, PROBE_CV_IN, frames);
    read_messages(probe);
    memcpy(probe->ports[PROBE_OUT], probe->ports[PROBE_IN], frames * sizeof(float));
    memset(probe->ports[PROBE_CV_OUT], 1, frames * sizeof(float));
    if (*(float *)probe->ports[PROBE_ASK] > 0) {
        const struct request request = {.magic = MAGIC, .runner = pthread_self()};
        probe->schedule->schedule_work(probe->schedule->handle, sizeof request, &request);
    }
    float say = *(float *)probe->ports[PROBE_SAY];
    if (say > 0)
        (probe->log->printf)(probe->log->handle, probe->error, "out of tune by %d\n", (int)say);
    report(probe);
}

static LV2_Worker_Status work(LV2_Handle instance, LV2_Worker_Respond_Function respond,
                              LV2_Worker_Respond_Handle handle, uint32_t size, const void *data)
{
    (void)instance;
    struct request request = {0};
    if (size == sizeof request)
        memcpy(&request, data, size);
    float other_thread = pthread_equal(request.runner, pthread_self()) ? 0 : 1;
    return request.magic == MAGIC ? respond(handle, sizeof other_thread, &other_thread)
                                  : LV2_WORKER_ERR_UNKNOWN;
}

static LV2_Worker_Status work_response(LV2_Handle instance, uint32_t size, const void *data)
{
    struct probe *probe = instance;
    if (size == sizeof(float))
        memcpy(&probe->reported[PROBE_OTHER_THREAD], data, size);
    probe->reported[PROBE_RESPONSES]++;
    return LV2_WORKER_SUCCESS;
}

static LV2_Worker_Status end_run(LV2_Handle instance)
{
    ((struct probe *)instance)->reported[PROBE_ENDS]++;
    return LV2_WORKER_SUCCESS;
}

static LV2_State_Status save(LV2_Handle instance, LV2_State_Store_Function store,
                             LV2_State_Handle handle, uint32_t flags,
                             const LV2_Feature *const *features)
{
    (void)flags;
    const struct probe *probe = instance;
    const LV2_State_Make_Path *make = feature(features, LV2_STATE__makePath);
    const LV2_State_Map_Path *map = feature(features, LV2_STATE__mapPath);
    const LV2_State_Free_Path *release = feature(features, LV2_STATE__freePath);
    char *path = make->path(make->handle, "number.txt");
    char *abstract = map->abstract_path(map->handle, path);
    FILE *file = fopen(path, "w");
    if (!file)
        return LV2_STATE_ERR_UNKNOWN;
    fprintf(file, "%d\n", PROBE_FILE_NUMBER);
    fclose(file);
    store(handle, probe->file, abstract, strlen(abstract) + 1, probe->path, LV2_STATE_IS_POD);
    release->free_path(release->handle, path);
    release->free_path(release->handle, abstract);
    return LV2_STATE_SUCCESS;
}

static LV2_State_Status restore(LV2_Handle instance, LV2_State_Retrieve_Function retrieve,
                                LV2_State_Handle handle, uint32_t flags,
                                const LV2_Feature *const *features)
{
    (void)flags;
    struct probe *probe = instance;
    size_t size;
    uint32_t type, value_flags;
    const char *abstract = retrieve(handle, probe->file, &size, &type, &value_flags);
    const LV2_State_Map_Path *map = feature(features, LV2_STATE__mapPath);
    const LV2_State_Free_Path *release = feature(features, LV2_STATE__freePath);
    char *path = abstract ? map->absolute_path(map->handle, abstract) : NULL;
    FILE *file = path ? fopen(path, "r") : NULL;
    if (file && fscanf(file, "%f", &probe->reported[PROBE_RESTORED]) != 1)
        probe->reported[PROBE_RESTORED] = PROBE_BAD;
    if (file)
        fclose(file);
    release->free_path(release->handle, path);
    return LV2_STATE_SUCCESS;
}

static const void *extension_data(const char *uri)
{
    static const LV2_Worker_Interface worker = {
        .work = work, .work_response = work_response, .end_run = end_run};
    static const LV2_State_Interface state = {.save = save, .restore = restore};
    if (strcmp(uri, LV2_WORKER__interface) == 0)
        return &worker;
    return strcmp(uri, LV2_STATE__interface) == 0 ? &state : NULL;
}

/* The other plugins differ in their bundle's description; one cannot be instantiated. */
static LV2_Handle make_none(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                            const LV2_Feature *const *features)
{
    (void)descriptor, (void)rate, (void)bundle, (void)features;
    return NULL;
}

extern const LV2_Descriptor probe_old; /* probe_old.c */

#define PROBE(uri, make) {uri, make, connect_port, activate, run, NULL, free, extension_data}

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index)
{
    static const LV2_Descriptor descriptors[] = {
        PROBE("urn:halo:probe", instantiate),
        PROBE("urn:halo:probe:power", instantiate),
        PROBE("urn:halo:probe:none", make_none),
    };
    size_t count = sizeof descriptors / sizeof *descriptors;
    return index < count ? &descriptors[index] : index == count ? &probe_old : NULL;
}
