/* Libraries that are no VST3 library, each by BROKEN; one crashes when it is loaded. */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

enum { NO_ENTRY, NO_FACTORY, ENTRY_FALSE, CRASH };

__attribute__((constructor)) static void load(void)
{
    if (BROKEN == CRASH)
        abort();
}

bool ModuleEntry(void *handle);
bool ModuleExit(void);
void *GetPluginFactory(void);

#if !LACKS_ENTRY
__attribute__((visibility("default"))) bool ModuleEntry(void *handle)
{
    return handle && BROKEN != ENTRY_FALSE;
}
#endif

__attribute__((visibility("default"))) bool ModuleExit(void)
{
    return true;
}

__attribute__((visibility("default"))) void *GetPluginFactory(void)
{
    return NULL;
}
