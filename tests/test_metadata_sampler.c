/* Data for samplers, from each container that has a place for them to each, judged by its
 * bytes and by libsndfile. */
#include "command.h"
#include "suite.h"

#include <sndfile.h>
#include <stdio.h>
#include <string.h>

#define FILES "python3 -S " METADATA_SCRIPTS "/metadata_files.py "
#define RENDER "\"$HALO\" render --no-sync "

enum { ROUNDS = 3 }; /* without a loop, with one, with two */

static const char *const from[] = {"wav", "aiff", "caf"};
enum { FROM = sizeof from / sizeof *from };

/* At random: pitch, ranges, gain, no loop or up to two; there, and back to where it came from. */
START_TEST(sampler_data_survives)
{
    command_clean();
    for (size_t i = 0; i < FROM; i++)
        for (int seed = 0; seed < ROUNDS; seed++) {
            command_done(FILES "sampler %d %s in.%s && rm -f out.* back-*", seed, from[i], from[i]);
            struct command_result result = command_done(
                "for k in wav rf64 w64 aiff caf; do " RENDER "in.%s out.$k --gain -6 && " RENDER
                "out.$k back-$k.%s --gain -6 || exit 1; done",
                from[i], from[i]);
            ck_assert_msg(!strstr(result.err, "keep"), "%s", result.err);
            command_done(FILES "alike in.%s out.* back-*", from[i]);
        }
}
END_TEST

/* The ends of loops are markers in AIFF, and regions in CAF: they do not become markers elsewhere.
 */
START_TEST(ends_of_loops_are_no_markers)
{
    command_clean();
    command_done(FILES "sampler 2 wav in.wav");
    static const char *const ways[] = {"aiff", "caf"};
    for (size_t i = 0; i < 2; i++) {
        command_done(RENDER "in.wav way.%s -qf --gain -6", ways[i]);
        command_done(RENDER "way.%s back.wav -qf --gain -6", ways[i]);
        const char *chunks = command_done(FILES "chunks back.wav").out;
        ck_assert_msg(!strstr(chunks, "cue ") && strstr(chunks, "smpl 84"), "%s", chunks);
    }
}
END_TEST

static void instrument_of(const char *name, SF_INSTRUMENT *instrument)
{
    SF_INFO info = {0};
    SNDFILE *file = sf_open(command_path(name), SFM_READ, &info);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(sf_command(file, SFC_GET_INSTRUMENT, instrument, sizeof *instrument), SF_TRUE);
    sf_close(file);
}

START_TEST(libsndfile_agrees)
{
    command_clean();
    for (int seed = 0; seed < ROUNDS; seed++) {
        SF_INSTRUMENT wav = {0}, aiff = {0}, made = {0};
        command_done(FILES "sampler %d wav in.wav && " FILES "sampler %d aiff in.aiff", seed, seed);
        command_done(RENDER "in.wav out.aiff -qf --gain -6 && " RENDER
                            "in.aiff out.wav -qf --gain -6");
        instrument_of("in.wav", &wav);
        instrument_of("out.aiff", &aiff);
        instrument_of("out.wav", &made);
        ck_assert_mem_eq(&wav, &made, sizeof wav);
        ck_assert_int_eq(aiff.loop_count, wav.loop_count);
        for (int i = 0; i < wav.loop_count; i++) {
            ck_assert_uint_eq(aiff.loops[i].start, wav.loops[i].start);
            ck_assert_uint_eq(aiff.loops[i].end, wav.loops[i].end);
        }
    }
}
END_TEST

/* A room changes what is heard at a loop's start, unless the whole sound is one loop and goes on at
 * its beginning. */
START_TEST(loops_end_with_a_tail_elsewhere)
{
    command_clean();
    for (size_t i = 0; i < FROM; i++)
        for (size_t k = (i + 1) % FROM; k != i; k = (k + 1) % FROM) {
            command_done(FILES "sampler 5 %s in.%s", from[i], from[i]);
            command_expect(
                command_done(RENDER "in.%s out.%s -f --mask lowpass:1000", from[i], from[k]).err,
                "does not keep: 2 sampler loops (their ends no longer meet)");
            const char *played = command_done(FILES "played out.%s", from[k]).out;
            ck_assert_msg(strstr(played, "pitch") && !strstr(played, "loop"), "%s", played);
            command_expect(command_done(RENDER "in.%s out.%s -f --noise in.%s,snr=20", from[i],
                                        from[k], from[i])
                               .err,
                           "does not keep: 2 sampler loops (their ends no longer meet)");
            command_expect(
                command_done(RENDER "in.%s out.%s -f --gain=-3,at=0.01s:@mix=0.5", from[i], from[k])
                    .err,
                "does not keep: 2 sampler loops (their ends no longer meet)");
            command_done(FILES "whole %s in.%s", from[i], from[i]);
            command_done(RENDER "in.%s out.%s -f --mask lowpass:1000 --edge wrap --tail none",
                         from[i], from[k]);
            command_expect(command_done(FILES "played out.%s", from[k]).out,
                           "loop forward 0 8000\n");
        }
}
END_TEST

/* What is beyond the end of the sound is no loop. */
START_TEST(loops_beyond_the_end_are_dropped)
{
    command_clean();
    for (size_t i = 0; i < FROM; i++)
        for (size_t k = (i + 1) % FROM; k != i; k = (k + 1) % FROM) {
            command_done(FILES "beyond %s in.%s", from[i], from[i]);
            command_expect(command_done(RENDER "in.%s out.%s -f --gain -6", from[i], from[k]).err,
                           "1 sampler loop");
            const char *played = command_done(FILES "played out.%s", from[k]).out;
            ck_assert_msg(!strstr(played, "loop"), "%s", played);
        }
}
END_TEST

/* Each part that OUT has no form for is named, and the rest is kept. */
START_TEST(what_has_no_form_is_named)
{
    static const struct {
        const char *what, *made, *to, *said, *played;
    } cases[] = {
        {"three", "wav", "aiff", "loops of smpl (", "loop forward 10 21\nloop forward 30 41\n"},
        {"three", "wav", "caf", "loops of smpl (", "loop forward 10 21\nloop forward 30 41\n"},
        {"backward", "wav", "aiff", "loops of smpl (", ""},
        {"backward", "wav", "caf", NULL, "loop backward 10 21\n"},
        {"backward", "caf", "wav", NULL, "loop backward 10 21\n"},
        {"plays", "wav", "aiff", "play counts of smpl (", "loop forward 10 21\n"},
        {"fraction", "wav", "aiff", "fractions of frames of smpl (", "loop forward 10 21\n"},
        {"smpte", "wav", "caf", "SMPTE offset of smpl (", "loop forward 10 21\n"},
        {"own", "wav", "aiff", "manufacturer's data of smpl (", "loop forward 10 21\n"},
        {"pitch", "wav", "aiff", "pitch of smpl (", "pitch 6200, "},
        {"note", "wav", "aiff", "pitch of smpl", "pitch 6000, "},
        {"note", "aiff", "wav", "pitch of INST (", "pitch 6000, "},
        {"note", "caf", "wav", "pitch of inst (", "pitch 6000, "},
        {"loud", "aiff", "wav", "gain of INST (", "gain 0\n"},
        {"loud", "aiff", "caf", NULL, "gain 200\n"},
        {"loud", "caf", "wav", "gain of inst (", "gain 0\n"},
        {"release", "aiff", "wav", "loops of INST (", "pitch 6000, "},
        {"release", "aiff", "caf", NULL, "loop forward 10 21\n"},
        {"start", "caf", "aiff", "start of inst (", "pitch 6000, "},
        {"name", "caf", "aiff", "name of inst (", "pitch 6000, "},
    };
    command_clean();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        command_done(FILES "%s %s in.%s", cases[i].what, cases[i].made, cases[i].made);
        struct command_result result =
            command_done(RENDER "in.%s out.%s -f --gain -6", cases[i].made, cases[i].to);
        if (cases[i].said)
            command_expect(result.err, cases[i].said);
        else
            ck_assert_msg(!strstr(result.err, "keep"), "%s: %s", cases[i].what, result.err);
        command_expect(command_done(FILES "played out.%s", cases[i].to).out, cases[i].played);
        command_done(RENDER "in.%s same.%s -f --gain -6 2>err; ! grep keep err", cases[i].made,
                     cases[i].made);
    }
}
END_TEST

/* Loops of CAF are flags of a region, which stays one. */
START_TEST(flags_of_regions_survive)
{
    command_clean();
    command_done(FILES "sampler 2 caf in.caf && " FILES "chunks in.caf | sort >wanted && " RENDER
                       "in.caf out.caf -q --gain -6 && " FILES
                       "chunks out.caf | sort | diff wanted -");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        sampler_data_survives,
        ends_of_loops_are_no_markers,
        libsndfile_agrees,
        loops_end_with_a_tail_elsewhere,
        loops_beyond_the_end_are_dropped,
        what_has_no_form_is_named,
        flags_of_regions_survive,
    };
    return suite_run("metadata_sampler", tests, sizeof tests / sizeof *tests);
}
