/* libFuzzer target for OSC packets. */
#include "fuzz.h"
#include "live/remote/lo_library.h"
#include "live/remote/osc_command.h"

#include <math.h>

static void check(void *context, const struct osc_message *message)
{
    (void)context;
    const struct live_command *command = &message->command;
    bool has_text = command->action == COMMAND_CHOOSE_NAMED || command->action == COMMAND_LOAD ||
                    command->action == COMMAND_CONTROL || command->action == COMMAND_PRESET ||
                    command->action == COMMAND_PRESET_SAVE;
    if (message->kind != OSC_COMMAND)
        return;
    if (!memchr(command->text, '\0', sizeof command->text) ||
        !memchr(command->value_text, '\0', sizeof command->value_text))
        abort();
    if ((has_text && !command->text[0]) ||
        (command->action == COMMAND_GAIN && !isfinite(command->value)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *bytes = malloc(size + 1); /* aligned to 16 */
    if (!bytes || !library_is_there(&lo_library))
        abort();
    if (size > 0)
        memcpy(bytes, data, size);
    osc_packet_read(bytes, size, check, NULL);
    free(bytes);
    return 0;
}
