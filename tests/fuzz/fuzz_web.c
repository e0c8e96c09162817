/* libFuzzer target for messages of web pages. */
#include "fuzz.h"
#include "live/web/live_web.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct live_web_request request;
    char reason[COMMAND_REASON_MOST] = "";
    const struct live_command *command = &request.command;
    bool valid = live_web_read((const char *)data, size, &request, reason);
    if (!valid && (!*reason || !memchr(reason, '\0', sizeof reason)))
        abort();
    if (!valid)
        return 0;
    if (request.wants_curves && (request.curves.input == 0 || request.curves.output == 0))
        abort();
    if (!request.wants_curves &&
        (!command->path || !isfinite(command->value) || command->sender.size != 0 ||
         !memchr(command->text, '\0', sizeof command->text) ||
         !memchr(command->value_text, '\0', sizeof command->value_text)))
        abort();
    return 0;
}
