#include "live/live_options.h"

#include <stdio.h>
#include <string.h>

#define OPTIONS(context) ((struct live_options *)(context))

static enum status parse_mute(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->muted = true;
    return STATUS_OK;
}

static enum status parse_no_guard(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->guard = false;
    return STATUS_OK;
}

static enum status parse_watch(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->watch = true;
    return STATUS_OK;
}

static enum status parse_reconnect(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->reconnect = true;
    return STATUS_OK;
}

static enum status parse_record(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    OPTIONS(context)->record = value;
    return STATUS_OK;
}

static enum status parse_record_dry(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    OPTIONS(context)->record_dry = value;
    return STATUS_OK;
}

static enum status parse_osc(void *context, const struct option_row *row, const char *value)
{
    OPTIONS(context)->osc = true;
    return options_parse_number(row->name, value, 0, 65535, &OPTIONS(context)->osc_port);
}

static enum status parse_position(void *context, const struct option_row *row, const char *value)
{
    (void)context, (void)row;
    return fail(STATUS_USAGE, "halo live takes no '%s'; a mask is named with --mask", value);
}

static const struct option_row own_rows[] = {
    {"reconnect", 0, NULL, "wait for a device that was lost, and go on", parse_reconnect},
    {"mute", 0, NULL, "begin muted", parse_mute},
    {"no-howl-guard", 0, NULL, "let feedback howl: for loops that are meant, test tones",
     parse_no_guard},
    {"watch", 0, NULL, "a mask file that changes on disk fades in", parse_watch},
    {"record", 0, "OUT", "write what is heard, with a log of switches: OUT.log", parse_record},
    {"record-dry", 0, "FILE", "write what comes in", parse_record_dry},
    {"osc", 0, "PORT", "be controlled from this machine, by OSC over UDP", parse_osc},
};

enum {
    ROWS_MOST = PLAY_OPTIONS_MOST + 16,
    PARTS = 3, /* stages, device, other options */
};

static void collect(struct option_row rows[ROWS_MOST], size_t counts[PARTS])
{
    counts[0] = play_options_stages(rows);
    struct option_row *at = rows + counts[0];
    counts[1] = play_options_device(at);
    at += counts[1];
    memcpy(at, own_rows, sizeof own_rows);
    counts[2] = sizeof own_rows / sizeof *own_rows;
    counts[2] += play_options_rest(at + counts[2]);
    at[counts[2]] = (struct option_row){.take = parse_position};
}

void live_options_print_help(void)
{
    struct option_row rows[ROWS_MOST];
    size_t counts[PARTS];
    collect(rows, counts);
    puts("usage: halo live [stages and options]\n\n"
         "Filter what a sound device records, and play it on one, with no delay added.\n"
         "A screen shows levels and load where there is a terminal. Keys: 1-9 choose a mask,\n"
         "space the dry signal, [ ] gain, m mute, c and C choose a plugin's control, + and -\n"
         "change it, b bypasses the plugin, r read the mask again, w write the recording to\n"
         "disk, q leave.\n\n"
         "OSC: /halo/control STAGE SYMBOL VALUE, /halo/mix STAGE VALUE, /halo/bypass STAGE 0|1,\n"
         "/halo/choose N, /halo/dry, /halo/gain DB, /halo/mute 0|1, /halo/load N PATH,\n"
         "/halo/reload, /halo/quit, /halo/subscribe and\n"
         "/halo/unsubscribe [PORT].\n\n"
         "stages, in the order given:");
    options_print(stdout, rows, counts[0]);
    puts("\nthe device:");
    options_print(stdout, rows + counts[0], counts[1]);
    puts("\noptions:");
    options_print(stdout, rows + counts[0] + counts[1], counts[2]);
    puts("\nexample: halo live --mask small-room.wav --or --mask hall.wav,gain=-6 --gain -3");
}

static enum status check(const struct live_options *options)
{
    if (options->record && options->record_dry && strcmp(options->record, options->record_dry) == 0)
        return fail(STATUS_USAGE, "--record and --record-dry need a file each");
    return STATUS_OK;
}

enum status live_options_parse(struct live_options *options, int argc, char **argv)
{
    struct option_row rows[ROWS_MOST];
    size_t counts[PARTS];
    collect(rows, counts);
    *options = (struct live_options){.guard = true};
    play_options_init(&options->play);
    options->play.device.wants_input = true;
    enum status status = options_parse(argc, argv, "halo live", rows, options);
    if (status != STATUS_OK || options->play.help)
        return status;
    status = play_options_check(&options->play);
    return status == STATUS_OK ? check(options) : status;
}

void live_options_free(struct live_options *options)
{
    play_options_free(&options->play);
}
