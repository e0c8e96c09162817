/* Logs of recordings that no recording wrote: refused by one line, or rendered. Those of real ones
 * are in test_live_sound.c and the other tests of halo live. */
#include "command.h"
#include "signal/audio.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>

#define RENDER "\"$HALO\" render in.wav out.wav --replay a.log"

/* A first line with the members `set_up`, and the lines `events`. */
static void save_log(const char *set_up, const char *events)
{
    FILE *file = fopen(command_path("a.log"), "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "{\"halo_log\":1,\"rate\":48000,\"channels\":1%s}\n%s", set_up, events);
    ck_assert_int_eq(fclose(file), 0);
}

static void begin(void)
{
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, 24000);
    sound_text("m.txt", "1\n-0.5\n0.25\n");
}

#define BLOCK ",\"block\":64"
#define MASK ",\"choose_at\":0,\"stages\":[[\"mask\",\"m.txt\"]]"
#define GAIN ",\"stages\":[[\"gain\",\"0\"]]"

START_TEST(a_set_up_that_makes_no_chain_is_refused)
{
    static const struct {
        const char *set_up, *expected;
    } cases[] = {
        {BLOCK ",\"room\":9,\"choose_at\":0" GAIN, "choose_at names no stage with masks"},
        {BLOCK ",\"room\":9,\"isolated\":true" GAIN, "plugins were a block late"},
        {BLOCK ",\"room\":9,\"choose_at\":1,\"stages\":[[\"mask\",\"m.txt\"]]", "choose_at names"},
        {BLOCK ",\"room\":9,\"choose_at\":-2" GAIN, "choose_at names"},
        {BLOCK ",\"room\":9,\"choose_at\":0,\"stages\":[]", "choose_at names"},
        {BLOCK ",\"room\":9,\"choose_at\":\"0\",\"stages\":[[\"mask\",\"m.txt\"]]", "choose_at"},
        {BLOCK ",\"room\":9,\"others\":[\"m.txt\"]" GAIN, "its choices are invalid"},
        {BLOCK ",\"room\":9,\"others\":[3]" MASK, "its choices are invalid"},
        {BLOCK ",\"room\":9,\"stages\":5", "lacks the stages"},
        {BLOCK ",\"room\":9", "lacks the stages"},
        {BLOCK ",\"room\":9,\"stages\":[[\"gain\"]]", "an unknown stage"},
        {BLOCK ",\"room\":9,\"stages\":[7]", "an unknown stage"},
        {BLOCK ",\"room\":9,\"stages\":[[\"gain\",\"loud\"]]", "a.log: --gain"},
        {BLOCK ",\"room\":65537" MASK, "lacks the set-up"},
        {BLOCK ",\"room\":-1" MASK, "lacks the set-up"},
        {BLOCK ",\"room\":268435456" MASK, "lacks the set-up"},
        {BLOCK MASK, "lacks the set-up"},
        {",\"block\":0,\"room\":0" MASK, "lacks the set-up"},
        {",\"block\":1e3,\"room\":0" MASK, "lacks the set-up"},
        {BLOCK ",\"room\":0,\"gain_db\":1e300" MASK, "lacks the set-up"},
        {BLOCK ",\"room\":0,\"ceiling_db\":\"-1\"" MASK, "lacks the set-up"},
    };
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        save_log(cases[i].set_up, "");
        command_refused(2, cases[i].expected, RENDER);
    }
    save_log(BLOCK ",\"room\":9,\"choose_at\":-1" GAIN, "");
    command_done(RENDER);
    /* as an editor of Windows saves it */
    command_done("mv a.log own.log && { printf '\\357\\273\\277'; cat own.log; } >a.log && " RENDER
                 " -f");
}

START_TEST(an_event_of_what_the_chain_lacks_is_refused)
{
    static const struct {
        const char *set_up, *event, *expected;
    } cases[] = {
        {GAIN, "\"event\":\"choose\",\"choice\":1,\"fade\":9,\"shape\":\"fade\"", "missing mask"},
        {GAIN, "\"event\":\"load\",\"choice\":1,\"mask\":\"m.txt\"", "missing mask"},
        {MASK, "\"event\":\"load\",\"choice\":2,\"mask\":\"m.txt\"", "missing mask"},
        {MASK, "\"event\":\"load\",\"choice\":0,\"mask\":\"m.txt\"", "unknown event"},
        {MASK, "\"event\":\"choose\",\"choice\":1,\"fade\":-1,\"shape\":\"fade\"", "unknown event"},
        {MASK, "\"event\":\"choose\",\"choice\":1,\"fade\":9,\"shape\":\"hop\"", "unknown event"},
        {MASK, "\"event\":\"gain\"", "unknown event"},
        {MASK, "\"event\":\"gain\",\"value\":\"1\"", "unknown event"},
        {MASK, "\"event\":\"gain\",\"value\":1e20", "unknown event"},
        {MASK, "\"event\":\"rise\",\"value\":1e300", "unknown event"},
        {MASK, "\"event\":\"failed\",\"stage\":1,\"value\":0", "missing stage"},
        {MASK, "\"event\":\"absent\",\"stage\":1001,\"value\":0", "unknown event"},
        {MASK, "\"event\":\"control\",\"stage\":1,\"control\":\"@mix\",\"value\":0", "no control"},
        {MASK, "\"event\":\"control\",\"stage\":9,\"control\":\"@mix\",\"value\":0", "no stage 9"},
    };
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char set_up[256], event[256];
        snprintf(set_up, sizeof set_up, BLOCK ",\"room\":0%s", cases[i].set_up);
        snprintf(event, sizeof event, "{\"frame\":900000,%s}\n", cases[i].event);
        save_log(set_up, event); /* also where the sound is shorter */
        command_refused(2, cases[i].expected, RENDER);
    }
}

START_TEST(many_events_in_any_order_take_little_time)
{
    begin();
    save_log(BLOCK ",\"room\":0" GAIN, "");
    command_done("awk 'BEGIN { for (i = 200000; i > 0; i--) printf "
                 "\"{\\\"frame\\\":%%d,\\\"event\\\":\\\"gain\\\",\\\"value\\\":1}\\n\", i }' "
                 ">>a.log");
    command_done("ulimit -t 20; " RENDER); /* of processor time */
}

START_TEST(events_of_one_frame_keep_their_order)
{
    char events[4096];
    int length = 0;
    begin();
    for (int i = 0; i < 60; i++)
        length += snprintf(events + length, sizeof events - (size_t)length,
                           "{\"frame\":0,\"event\":\"gain\",\"value\":%d}\n", i == 59 ? 0 : 1);
    save_log(BLOCK ",\"room\":0" GAIN, events);
    command_done(RENDER);
    struct sound out = sound_load("out.wav");
    size_t half = out.block.frames / 2;
    ck_assert_double_eq((double)audio_peak(out.block.data[0] + half, out.block.frames - half), 0);
}
