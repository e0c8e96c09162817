/* libFuzzer target for messages: names of any bytes are compared with others, quoted in failures,
 * divided into what failed, why and what to do, and made JSON. The input is two names, a line each.
 */
#include "base/failure_json.h"
#include "base/suggest.h"
#include "base/wrapped_text.h"
#include "fuzz.h"

static FILE *nowhere;

/* In an empty folder. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    static char folder[] = "/tmp/halo-fuzz-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0 || rmdir(folder) != 0 ||
        !(nowhere = fopen("/dev/null", "w")))
        abort();
    failures_hide(true);
    return 0;
}

/* Each part is a part of the message. */
static void check_last(void)
{
    json_t *object = failure_json_take();
    const char *message = json_string_value(json_object_get(object, "message")), *key;
    const json_t *value;
    if (!message)
        abort();
    json_object_foreach(object, key, value) if (json_is_string(value) &&
                                                !strstr(message, json_string_value(value))) abort();
    json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text, *name = strsep(&rest, "\n");
    char near[SUGGEST_TEXT], other[SUGGEST_TEXT];
    const char *list = rest ? rest : "";
    const char *const names[] = {list, "--mask", "gain=", NULL};
    (void)!fail(STATUS_FAILED, "cannot open %s: %s%s", name, list, suggest_file(near, name));
    check_last();
    suggest_from_list(other, name, list, "=");
    log_prefix(list);
    (void)!fail(STATUS_USAGE, "there is no %s 100%%%s%s", name, suggest_from(near, name, names),
                other);
    log_prefix(NULL);
    check_last();
    (void)!fail(STATUS_USAGE, "%s", text);
    check_last();
    wrapped_print_text(nowhere, list);
    free(text);
    return 0;
}
