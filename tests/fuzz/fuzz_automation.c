/* libFuzzer target for timed changes, one a line. */
#include "fuzz.h"
#include "sound/automation.h"

static void check(const struct automation *automation)
{
    for (size_t i = 1; i < automation->count; i++)
        if (automation->points[i].at < automation->points[i - 1].at)
            abort();
    struct automation_cursor cursor = {.automation = automation};
    size_t seen = 0;
    do {
        while (automation_due(&cursor))
            seen++;
    } while (automation_advance(&cursor, SIZE_MAX) < SIZE_MAX);
    if (seen != automation->count)
        abort(); /* one was not reached, or twice */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text, *line;
    struct automation automation = {0};
    while ((line = strsep(&rest, "\n"))) {
        const struct automation_time time = {.rate = 48000, .frames = 480000 * (size & 1)};
        struct automation_point point;
        const char *change = NULL;
        if (!automation_is_word(line))
            continue;
        fuzz_begin();
        enum status status = automation_parse(line, time, &point, &change);
        if (status == STATUS_OK) {
            point.target = change[0] == 'g';
            point.value = 1;
            if (change < line || change > line + strlen(line))
                abort();
            status = automation_add(&automation, &point);
        }
        fuzz_end(status);
    }
    check(&automation);
    automation_free(&automation);
    free(text);
    return 0;
}
