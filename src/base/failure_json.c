#include "base/failure_json.h"

#include "base/json_text.h"

#include <string.h>

static bool asked, taken;
static FILE *report;

void failure_json_begin(char **argv)
{
    FILE *stream = stdout;
    for (char **word = argv; *word && strcmp(*word, "--") != 0; word++) {
        asked = asked || strcmp(*word, "--json") == 0;
        if (strcmp(*word, "-") == 0)
            stream = stderr;
    }
    failure_json_to(stream);
}

void failure_json_to(FILE *stream)
{
    report = stream;
    failures_hide(asked && stream == stderr);
}

static json_t *object_of(const struct failure *failure, int code)
{
    return json_pack("{s:i, s:s, s:o}", "code", code, "cause", cause_name(failure->cause),
                     "message", json_text(failure->message));
}

json_t *failure_json_of_file(void)
{
    struct failure failure;
    return failure_last(&failure) ? object_of(&failure, (int)cause_status(failure.cause)) : NULL;
}

json_t *failure_json_take(void)
{
    json_t *object = failure_json_of_file();
    taken = taken || object;
    return object;
}

enum status failure_json_print(int code)
{
    struct failure failure;
    if (!asked || taken)
        return STATUS_OK;
    if (!failure_last(&failure)) {
        failure.cause = code > 128 ? CAUSE_INTERRUPTED : CAUSE_OTHER;
        strcpy(failure.message, code > 128 ? "stopped" : "failed");
    }
    json_t *root = json_pack("{s:o}", "error", object_of(&failure, code));
    return json_write(root, JSON_COMPACT, report) == 0 ? STATUS_OK : STATUS_FAILED;
}
