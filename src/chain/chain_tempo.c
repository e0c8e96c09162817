#include "chain/chain_tempo.h"

#include "base/decimal.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const double BPM_LEAST = 1, BPM_MOST = 1000;
enum { BAR_MOST = 64, UNIT_MOST = 64 };

enum status chain_tempo_parse(const char *what, const char *text, struct plugin_tempo *tempo)
{
    char *end;
    double bpm;
    unsigned long bar = 4, unit = 4;
    bool good = decimal_read(text, &end, &bpm) && bpm >= BPM_LEAST && bpm <= BPM_MOST;
    if (good && *end == ',') {
        bar = isdigit((unsigned char)end[1]) ? strtoul(end + 1, &end, 10) : 0;
        unit = *end == '/' && isdigit((unsigned char)end[1]) ? strtoul(end + 1, &end, 10) : 0;
    }
    good = good && !*end && bar >= 1 && bar <= BAR_MOST && unit >= 1 && unit <= UNIT_MOST &&
           (unit & (unit - 1)) == 0;
    if (!good)
        return fail(CAUSE_USAGE,
                    "%s is beats a minute from %g to %g, and perhaps a time signature, such as "
                    "120 or 90,6/8, not '%s'",
                    what, BPM_LEAST, BPM_MOST, text);
    *tempo = (struct plugin_tempo){.bpm = bpm, .bar = (unsigned)bar, .unit = (unsigned)unit};
    return STATUS_OK;
}

enum status chain_tempo_take(const char *text, const char *path, struct stage_list *list)
{
    struct plugin_tempo tempo, *other = &list->tempo;
    char what[PATH_MAX + 64];
    snprintf(what, sizeof what, "cannot use chain %s: its tempo", path);
    if (!text)
        return STATUS_OK;
    if (chain_tempo_parse(what, text, &tempo) != STATUS_OK)
        return STATUS_FAILED;
    list->tempos_differ |= other->bpm > 0 && (other->bpm != tempo.bpm || other->bar != tempo.bar ||
                                              other->unit != tempo.unit);
    if (other->bpm == 0)
        *other = tempo;
    return STATUS_OK;
}

/* The fewest digits that read back the same. */
void chain_tempo_print(const struct stage_list *list, FILE *stream)
{
    char number[32];
    if (list->count == 0 || list->stages[0].settings.tempo.bpm == 0)
        return;
    const struct plugin_tempo *tempo = &list->stages[0].settings.tempo;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, tempo->bpm);
        if (strtod(number, NULL) == tempo->bpm)
            break;
    }
    fprintf(stream, "tempo: %s,%u/%u\n", number, tempo->bar, tempo->unit);
}
