/* A dynamic manifest that aborts or pauses (TROUBLE) when it is opened, or tells of one plugin:
 * urn:halo:test:copy, of the library of mean.c. */
#include <lv2/dynmanifest/dynmanifest.h>
#include <stdlib.h>
#include <unistd.h>

enum { ABORT, PAUSE, NONE };

#define EXPORT __attribute__((visibility("default")))
#define LV2 "http://lv2plug.in/ns/lv2core#"

EXPORT int lv2_dyn_manifest_open(LV2_Dyn_Manifest_Handle *handle,
                                 const LV2_Feature *const *features)
{
    (void)handle, (void)features;
    if (TROUBLE == ABORT)
        abort();
    while (TROUBLE == PAUSE)
        pause();
    return 0;
}

EXPORT int lv2_dyn_manifest_get_subjects(LV2_Dyn_Manifest_Handle handle, FILE *file)
{
    (void)handle;
    return fputs("<urn:halo:test:copy> a <" LV2 "Plugin> .\n", file) < 0;
}

static void describe_port(FILE *file, int index, const char *direction, const char *type,
                          const char *symbol)
{
    fprintf(file,
            "%s [ a <" LV2 "%sPort> , <" LV2 "%sPort> ; <" LV2 "index> %d ;\n"
            "<" LV2 "symbol> \"%s\" ; <" LV2 "name> \"%s\" ]",
            index > 0 ? " ,\n" : "", direction, type, index, symbol, symbol);
}

EXPORT int lv2_dyn_manifest_get_data(LV2_Dyn_Manifest_Handle handle, FILE *file, const char *uri)
{
    (void)handle;
    fprintf(file,
            "<%s> a <" LV2 "Plugin> ; <http://usefulinc.com/ns/doap#name> \"Computed\" ;\n"
            "<" LV2 "binary> <../../ladspa/mean.so> ;\n<" LV2 "port>",
            uri);
    describe_port(file, 0, "Input", "Audio", "in");
    describe_port(file, 1, "Output", "Audio", "out");
    describe_port(file, 2, "Input", "Control", "at");
    describe_port(file, 3, "Input", "Control", "amount");
    describe_port(file, 4, "Output", "Control", "late");
    return fputs(" .\n", file) < 0;
}

EXPORT void lv2_dyn_manifest_close(LV2_Dyn_Manifest_Handle handle)
{
    (void)handle;
}
