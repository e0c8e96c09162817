/* libFuzzer target for messages: names of any bytes are compared with others, quoted in failures,
 * and made JSON. The input is two names, a line each.
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

static void check_last(void)
{
    json_t *object = failure_json_take();
    if (!json_is_string(json_object_get(object, "message")))
        abort();
    json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text, *name = strsep(&rest, "\n");
    char near[SUGGEST_TEXT], other[SUGGEST_TEXT];
    const char *list = rest ? rest : "";
    const char *const names[] = {list, "--mask", "gain=", NULL};
    (void)!fail(CAUSE_OTHER, "cannot open %s: %s%s", name, list, suggest_file(near, name));
    check_last();
    suggest_from_list(other, name, list, "=");
    log_prefix(list);
    (void)!fail(CAUSE_USAGE, "there is no %s 100%%%s%s", name, suggest_from(near, name, names),
                other);
    log_prefix(NULL);
    check_last();
    (void)!fail(CAUSE_USAGE, "it is %s", text);
    check_last();
    wrapped_print_text(nowhere, list);
    free(text);
    return 0;
}
