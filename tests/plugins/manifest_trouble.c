/* A dynamic manifest that aborts or pauses (TROUBLE) when it is opened. */
#include <lv2/dynmanifest/dynmanifest.h>
#include <stdlib.h>
#include <unistd.h>

enum { ABORT, PAUSE };

__attribute__((visibility("default"))) int lv2_dyn_manifest_open(LV2_Dyn_Manifest_Handle *handle,
                                                                 const LV2_Feature *const *features)
{
    (void)handle, (void)features;
    if (TROUBLE == ABORT)
        abort();
    for (;;)
        pause();
}
