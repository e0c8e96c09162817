/* Libraries that are no CLAP library, each by BROKEN; some crash when they are loaded. */
#include "plugin/clap/clap_abi.h"

#include <stdlib.h>

enum { NO_ENTRY, OLD, NO_FACTORY, INIT_FALSE, EMPTY_ENTRY, CRASH };

__attribute__((constructor)) static void load(void)
{
    if (BROKEN == CRASH)
        abort();
}

#if !NO_CLAP_ENTRY
static bool init(const char *path)
{
    (void)path;
    return BROKEN != INIT_FALSE;
}

static void deinit(void)
{
}

static const void *get_factory(const char *id)
{
    (void)id;
    return NULL;
}

extern const struct clap_plugin_entry clap_entry;
__attribute__((visibility("default"))) const struct clap_plugin_entry clap_entry = {
    {BROKEN == OLD ? 0 : 1, 26, 0}, BROKEN == EMPTY_ENTRY ? NULL : init, deinit, get_factory};
#endif
