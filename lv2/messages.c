/* The path of the mask by patch:Set and patch:Get: all of it is real-time. */
#include "instance.h"

#include "base/realtime.h"

#include <lv2/atom/util.h>

#include <string.h>

enum { ENVELOPE = 160 }; /* bound in bytes for a message without its path */

HALO_REALTIME static bool is_text(const struct instance *instance, const LV2_Atom *atom)
{
    return atom &&
           (atom->type == instance->urids.atom_path || atom->type == instance->urids.atom_string);
}

/* A path that is too long is ignored; the host gets the current one. */
HALO_REALTIME static void set_path(struct instance *instance, const LV2_Atom *value)
{
    const char *path = LV2_ATOM_BODY_CONST(value);
    effect_request(instance->effect, path, strnlen(path, value->size));
}

HALO_REALTIME static bool is_about_mask(const struct instance *instance, const LV2_Atom *property)
{
    return property && property->type == instance->urids.atom_urid &&
           ((const LV2_Atom_URID *)property)->body == instance->urids.mask;
}

HALO_REALTIME static void read_object(struct instance *instance, const LV2_Atom_Object *object)
{
    const struct urids *urids = &instance->urids;
    const LV2_Atom *property = NULL, *value = NULL;
    lv2_atom_object_get(object, urids->patch_property, &property, urids->patch_value, &value, 0);
    if (object->body.otype == urids->patch_set && is_about_mask(instance, property) &&
        is_text(instance, value))
        set_path(instance, value);
    if (object->body.otype == urids->patch_get && (!property || is_about_mask(instance, property)))
        effect_report(instance->effect);
}

HALO_REALTIME void messages_read(struct instance *instance)
{
    if (!instance->map || !instance->control ||
        instance->control->atom.size < sizeof(LV2_Atom_Sequence_Body))
        return;
    LV2_ATOM_SEQUENCE_FOREACH(instance->control, event)
    if (event->body.type == instance->urids.atom_object)
        read_object(instance, (const LV2_Atom_Object *)&event->body);
}

HALO_REALTIME static void forge_path(struct instance *instance, const char *file)
{
    LV2_Atom_Forge *forge = &instance->forge;
    LV2_Atom_Forge_Frame object;
    lv2_atom_forge_frame_time(forge, 0);
    lv2_atom_forge_object(forge, &object, 0, instance->urids.patch_set);
    lv2_atom_forge_key(forge, instance->urids.patch_property);
    lv2_atom_forge_urid(forge, instance->urids.mask);
    lv2_atom_forge_key(forge, instance->urids.patch_value);
    lv2_atom_forge_path(forge, file, (uint32_t)strlen(file) + 1);
    lv2_atom_forge_pop(forge, &object);
}

HALO_REALTIME void messages_write(struct instance *instance)
{
    if (!instance->map || !instance->notify)
        return;
    LV2_Atom_Forge_Frame sequence;
    size_t capacity = instance->notify->atom.size;
    lv2_atom_forge_set_buffer(&instance->forge, (uint8_t *)instance->notify, capacity);
    if (!lv2_atom_forge_sequence_head(&instance->forge, &sequence, 0))
        return;
    const char *file =
        capacity >= ENVELOPE ? effect_reported(instance->effect, capacity - ENVELOPE) : NULL;
    if (file)
        forge_path(instance, file);
    lv2_atom_forge_pop(&instance->forge, &sequence);
}
