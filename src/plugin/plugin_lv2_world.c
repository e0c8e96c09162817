#include "plugin/plugin_lv2_world.h"

#include "base/suggest.h"

#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIKE_MOST = 3 }; /* names that an error suggests */

struct known_node {
    const char *uri;
    LilvNode *node;
};

static LilvWorld *the_world;
static void *nodes; /* tsearch's tree of struct known_node, by URI */

/* `path` with its folders absolute: lilv makes URIs of them, and aborts over others. NULL: memory.
 */
static char *absolute_path(const char *path)
{
    char *text = NULL, here[PATH_MAX] = "";
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream || !getcwd(here, sizeof here))
        return NULL;
    while (*path) {
        size_t length = strcspn(path, ":");
        bool relative = length > 0 && *path != '/' && *path != '~';
        fprintf(stream, "%s%s%s%.*s", ftell(stream) ? ":" : "", relative ? here : "",
                relative ? "/" : "", (int)length, path);
        path += length + (path[length] == ':');
    }
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

static enum status set_path(LilvWorld *world)
{
    const char *said = getenv("LV2_PATH");
    if (!said)
        return STATUS_OK;
    char *path = absolute_path(said);
    LilvNode *node = path ? lilv_new_string(world, path) : NULL;
    free(path);
    if (!node)
        return fail_memory("the LV2 plugins");
    lilv_world_set_option(world, LILV_OPTION_LV2_PATH, node);
    lilv_node_free(node);
    return STATUS_OK;
}

enum status lv2_world_get(LilvWorld **world)
{
    enum status status = STATUS_OK;
    if (!the_world) {
        LilvWorld *made = lilv_world_new();
        status = made ? set_path(made) : fail_memory("the LV2 plugins");
        if (status != STATUS_OK) {
            lilv_world_free(made);
            return status;
        }
        lilv_world_load_all(made);
        the_world = made;
    }
    *world = the_world;
    return status;
}

static int by_uri(const void *a, const void *b)
{
    const struct known_node *left = a, *right = b;
    return strcmp(left->uri, right->uri);
}

static struct known_node *node_add(const char *uri)
{
    struct known_node *known = malloc(sizeof *known);
    LilvNode *node = lilv_new_uri(the_world, uri);
    if (!known || !node)
        abort(); /* lilv itself cannot go on without */
    *known = (struct known_node){.uri = lilv_node_as_uri(node), .node = node};
    if (!tsearch(known, &nodes, by_uri))
        abort();
    return known;
}

const LilvNode *lv2_world_node(const char *uri)
{
    const struct known_node wanted = {.uri = uri};
    struct known_node **found = tfind(&wanted, &nodes, by_uri);
    return (found ? *found : node_add(uri))->node;
}

bool lv2_world_says(const LilvNode *subject, const char *predicate, const char *object)
{
    return lilv_world_ask(the_world, subject, lv2_world_node(predicate),
                          object ? lv2_world_node(object) : NULL);
}

char *lv2_world_text(LilvNode *node)
{
    const char *said = node ? lilv_node_as_string(node) : NULL;
    char *text = said ? strdup(said) : NULL;
    lilv_node_free(node);
    return text;
}

/* What stands after the last / # or : that something follows. */
static const char *last_part(const char *uri)
{
    const char *part = uri;
    for (const char *at = uri; *at; at++)
        if (strchr("/#:", *at) && at[1])
            part = at + 1;
    return part;
}

static bool is_like(const LilvPlugin *plugin, const char *wanted)
{
    if (strcasestr(lilv_node_as_uri(lilv_plugin_get_uri(plugin)), wanted))
        return true;
    LilvNode *name = lilv_plugin_get_name(plugin);
    bool is = name && strcasestr(lilv_node_as_string(name), wanted);
    lilv_node_free(name);
    return is;
}

/* Of those that are misspelt. */
static void report_near(const LilvPlugins *plugins, const char *uri, char *text, size_t size)
{
    struct suggest near;
    suggest_init(&near, uri);
    LILV_FOREACH(plugins, i, plugins)
    {
        const LilvNode *right = lilv_plugin_get_uri(lilv_plugins_get(plugins, i));
        suggest_offer(&near, lilv_node_as_uri(right));
    }
    snprintf(text, size, "%s", suggest_text(&near));
    suggest_free(&near);
}

/* "; is it A, B or another?", or "". */
static void report_like(const LilvPlugins *plugins, const char *uri, char *text, size_t size)
{
    const char *wanted = last_part(uri);
    size_t count = 0, length = 0;
    text[0] = '\0';
    LILV_FOREACH(plugins, i, plugins)
    {
        const LilvPlugin *plugin = lilv_plugins_get(plugins, i);
        if (!*wanted || !is_like(plugin, wanted) || length >= size)
            continue;
        if (count < LIKE_MOST)
            length +=
                (size_t)snprintf(text + length, size - length, "%s%s", count ? ", " : "; is it ",
                                 lilv_node_as_uri(lilv_plugin_get_uri(plugin)));
        count++;
    }
    if (count && length < size)
        snprintf(text + length, size - length, count > LIKE_MOST ? " or another?" : "?");
    if (count == 0)
        report_near(plugins, uri, text, size);
}

enum status lv2_world_find(const char *uri, const LilvPlugin **plugin)
{
    LilvWorld *world;
    TRY(lv2_world_get(&world));
    const LilvPlugins *plugins = lilv_world_get_all_plugins(world);
    LilvNode *node = strchr(uri, ':') ? lilv_new_uri(world, uri) : NULL; /* others it calls bad */
    *plugin = node ? lilv_plugins_get_by_uri(plugins, node) : NULL;
    lilv_node_free(node);
    if (*plugin)
        return STATUS_OK;
    char like[512];
    report_like(plugins, uri, like, sizeof like);
    return fail(STATUS_FAILED, "cannot find the LV2 plugin %s%s (halo plugins list lists them all)",
                uri, like);
}
