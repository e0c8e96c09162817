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

/* From `start` up to the separator before `end`; 0: there is none. */
static json_t *part(const struct failure *failure, size_t start, size_t end, bool is_there)
{
    char text[FAILURE_BYTES];
    size_t length = end ? end - start - strlen("; ") : strlen(failure->message + start);
    if (!is_there)
        return json_null();
    memcpy(text, failure->message + start, length);
    text[length] = '\0';
    return json_text(text);
}

static json_t *object_of(const struct failure *failure, int code)
{
    size_t reason = failure->reason, advice = failure->advice;
    return json_pack("{s:i, s:o, s:o, s:o, s:o}", "code", code, "what",
                     part(failure, 0, reason ? reason : advice, true), "why",
                     part(failure, reason, advice, reason), "advice",
                     part(failure, advice, 0, advice), "message", json_text(failure->message));
}

json_t *failure_json_of_file(void)
{
    struct failure failure;
    return failure_last(&failure) ? object_of(&failure, (int)failure.status) : NULL;
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
    if (!failure_last(&failure))
        snprintf(failure.message, sizeof failure.message, "%s", code > 128 ? "stopped" : "failed");
    json_t *root = json_pack("{s:o}", "error", object_of(&failure, code));
    return json_write(root, JSON_COMPACT, report) == 0 ? STATUS_OK : STATUS_FAILED;
}
