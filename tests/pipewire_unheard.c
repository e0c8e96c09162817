#include "pipewire_unheard.h"

#include "suite.h"

#include <pipewire/extensions/metadata.h>
#include <pipewire/pipewire.h>
#include <stdio.h>
#include <string.h>

struct client {
    struct pw_main_loop *loop;
    struct pw_context *context;
    struct pw_core *core;
    struct pw_registry *registry;
    struct pw_proxy *bindings[2];
    struct spa_hook core_hook, registry_hook;
    uint32_t defaults; /* the metadata; SPA_ID_INVALID: not there */
    int asked;
};

static void global_added(void *context, uint32_t id, uint32_t permissions, const char *type,
                         uint32_t version, const struct spa_dict *properties)
{
    struct client *client = context;
    const char *name = properties ? spa_dict_lookup(properties, PW_KEY_METADATA_NAME) : NULL;
    (void)permissions, (void)version;
    if (strcmp(type, PW_TYPE_INTERFACE_Metadata) == 0 && name && strcmp(name, "default") == 0)
        client->defaults = id;
}

static const struct pw_registry_events registry_events = {PW_VERSION_REGISTRY_EVENTS,
                                                          .global = global_added};

static void answered(void *context, uint32_t id, int sequence)
{
    struct client *client = context;
    if (id == PW_ID_CORE && sequence == client->asked)
        pw_main_loop_quit(client->loop);
}

static const struct pw_core_events core_events = {PW_VERSION_CORE_EVENTS, .done = answered};

/* Until the server has handled all that was sent. */
static void finish(struct client *client)
{
    client->asked = pw_core_sync(client->core, PW_ID_CORE, 0);
    pw_main_loop_run(client->loop);
}

static void begin(struct client *client)
{
    pw_init(NULL, NULL);
    client->defaults = SPA_ID_INVALID;
    client->loop = pw_main_loop_new(NULL);
    client->context = pw_context_new(pw_main_loop_get_loop(client->loop), NULL, 0);
    ck_assert_ptr_nonnull(client->context);
    client->core = pw_context_connect(client->context, NULL, 0);
    ck_assert_ptr_nonnull(client->core);
    pw_core_add_listener(client->core, &client->core_hook, &core_events, client);
    client->registry = pw_core_get_registry(client->core, PW_VERSION_REGISTRY, 0);
    pw_registry_add_listener(client->registry, &client->registry_hook, &registry_events, client);
    finish(client);
    ck_assert_uint_ne(client->defaults, SPA_ID_INVALID);
}

static struct pw_proxy *bind_defaults(const struct client *client)
{
    struct pw_proxy *proxy = pw_registry_bind(client->registry, client->defaults,
                                              PW_TYPE_INTERFACE_Metadata, PW_VERSION_METADATA, 0);
    ck_assert_ptr_nonnull(proxy);
    return proxy;
}

static void end(const struct client *client)
{
    pw_proxy_destroy(client->bindings[0]);
    pw_proxy_destroy(client->bindings[1]);
    pw_proxy_destroy((struct pw_proxy *)client->registry);
    pw_core_disconnect(client->core);
    pw_context_destroy(client->context);
    pw_main_loop_destroy(client->loop);
}

/* The change goes through the session manager, which keeps the defaults; so the second reading has
 * begun before it comes back. */
void pipewire_rig_default_unheard(const char *sink)
{
    struct client client = {0};
    char value[128];
    snprintf(value, sizeof value, "{\"name\":\"%s\"}", sink);
    begin(&client);
    client.bindings[0] = bind_defaults(&client);
    finish(&client);
    pw_metadata_set_property((struct pw_metadata *)client.bindings[0], PW_ID_CORE,
                             "default.audio.sink", "Spa:String:JSON", value);
    client.bindings[1] = bind_defaults(&client);
    finish(&client);
    end(&client);
}
