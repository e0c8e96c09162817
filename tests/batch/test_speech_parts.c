/* Parts of recordings: --start and --duration, and the manifests that name them. What is taken is
 * compared sample by sample with the whole recording. */
#include "base/noise.h"
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT = SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE = 16000, FRAMES = 40009 };

static void expect_part(const char *name, const char *whole, size_t from, size_t frames)
{
    struct sound part = sound_load(name), all = sound_load(whole);
    ck_assert_uint_eq(part.block.frames, frames);
    for (size_t c = 0; c < all.block.channels; c++)
        for (size_t i = 0; i < frames; i++)
            ck_assert_float_eq(part.block.data[c][i], all.block.data[c][from + i]);
}

static void begin(void)
{
    sound_noise_file("a.wav", 1, FLOAT, RATE, 2, FRAMES);
    sound_noise_file("b.flac", 2, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, RATE, 1, FRAMES);
    sound_noise_file("c.wav", 3, FLOAT, 44100, 1, FRAMES);
    sound_noise_file("d.wav", 4, FLOAT, 22050, 1, FRAMES);
}

START_TEST(a_part_is_exact_to_the_frame)
{
    static const struct {
        const char *sound, *options;
        size_t from, frames;
    } rows[] = {
        {"a.wav", "--start 1", 16000, FRAMES - 16000},
        {"a.wav", "--duration 0.5", 0, 8000},
        {"a.wav", "--start 0.1s --duration 250ms", 1600, 4000},
        {"b.flac", "--start 2.00004 --duration 0.00004", 32001, 1},
        {"b.flac", "--start 1.9999 --duration 0.3", 31998, 4800},
        {"c.wav", "--start 0.29 --duration 0.33", 12789, 14553},
        {"a.wav", "--start 2.5 --duration 0.02", 40000, 9}, /* as manifests round */
        {"a.wav", "--start 0.5 --duration 2.0005625", 8000, 32009},
        /* half a frame is one more, also where its decimals are less in binary */
        {"a.wav", "--start 0.50003125 --duration 0.25003125", 8001, 4001},
        {"d.wav", "--start 0.57 --duration 0.57", 12569, 12569},
        {"d.wav", "--start 0.69 --duration 0.01", 15215, 221},
        /* an end is a frame of the sound */
        {"a.wav", "--start 0.00002 --end 1.00004", 0, 16001},
        {"b.flac", "--end 1500ms", 0, 24000},
        {"a.wav", "--start 2 --end 2.51", 32000, 8009},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_done("$HALO render -q -f %s out.wav --format float %s", rows[i].sound,
                     rows[i].options);
        expect_part("out.wav", rows[i].sound, rows[i].from, rows[i].frames);
        command_done("cat %s | $HALO render -q -f - out.wav --format float %s", rows[i].sound,
                     rows[i].options);
        expect_part("out.wav", rows[i].sound, rows[i].from, rows[i].frames);
    }
}

/* A room, a level and noise see the part alone. */
START_TEST(a_part_is_filtered_as_a_file_of_its_own)
{
    begin();
    sound_noise_file("room.wav", 4, FLOAT, RATE, 1, 3000);
    command_done(
        "$HALO render -q a.wav part.wav --start 0.7 --duration 1.1 && for t in none full; do "
        "$HALO render -q -f part.wav 1.wav --tail $t --mask "
        "room.wav,level=input --noise b.flac,snr=5 && $HALO render -q -f a.wav "
        "2.wav --start 0.7 --duration 1.1 --tail $t --mask room.wav,level=input --noise "
        "b.flac,snr=5 && cmp 1.wav 2.wav || exit 1; done");
}

/* Neither what is before nor what is after it, of two gigabytes: by the bytes that the shell and
 * what it waited for have read. */
START_TEST(only_the_part_is_read)
{
    begin();
    sound_sparse("hours.wav", 48000, 2, (uint64_t)48000 * 3600 * 3);
    struct command_result result = command_done(
        "$HALO render -q hours.wav out.wav --start 9000 --duration 0.5 --json && grep -q '^rchar: ' "
        "/proc/$$/io && sed -n 's/^rchar: //p' /proc/$$/io >read");
    ck_assert_double_eq(command_number(result.out, "frames_out"), 24000);
    ck_assert_double_eq(command_number(result.out, "frames_in"), 24000);
    double bytes = strtod(command_done("cat read").out, NULL);
    ck_assert_double_gt(bytes, 24000 * 4);
    ck_assert_double_lt(bytes, 50e6);
}

START_TEST(parts_that_are_not_there_are_refused)
{
    static const struct {
        const char *expected, *options;
    } rows[] = {
        {"cannot begin at 3 s of", "--start 3"},
        {"cannot take 1.6 s from 1 s on of", "--start 1 --duration 1.6"},
        {"it has 2.5005625 s", "--duration 2.53"},
        {"cannot begin at 1e+09 s of", "--start 1e9"},
        {"cannot take 0.5 s from 2.500625 s on of", "--start 2.5006 --duration 0.5"},
        {"cannot take 1e-05 s of", "--duration 1e-5"},
        {"that is less than a frame at 16000 Hz", "--start 1 --duration 0.00003"},
        {"--start takes seconds", "--start=-1"},
        {"--start takes seconds", "--start nan"},
        {"--start takes seconds", "--start 1e30"},
        {"--start", "--start ''"},
        {"--duration must be more than 0", "--duration 0"},
        {"--duration takes seconds", "--duration=-0.1"},
        {"it has 2.5005625 s", "--end 2.6"},
        {"it has 2.5005625 s", "--start 3 --end 4"},
        {"--end must be after --start", "--start 1 --end 1"},
        {"--end must be after --start", "--end 0"},
        {"exclude each other", "--duration 1 --end 2"},
        {"--end takes seconds", "--end nan"},
        {"--end takes seconds", "--end=-1"},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_refused(0, rows[i].expected, "$HALO render a.wav out.wav %s", rows[i].options);
        command_refused(0, rows[i].expected, "cat a.wav | $HALO render - out.wav %s",
                        rows[i].options);
    }
    command_done("head -c 100000 a.wav > cut.wav");
    command_refused(1, "is truncated", "$HALO render cut.wav out.wav --start 0.1 --duration 0.1");
}

/* Markers stay at their sounds. */
START_TEST(positions_move_with_the_part)
{
    begin();
    command_done(
        "python3 -c 'import struct; d=open(\"a.wav\",\"rb\").read(); "
        "c=struct.pack(\"<I\",2)+b\"\".join(struct.pack(\"<II4sIII\",i,p,b\"data\",0,0,p) for "
        "i,p in ((1,1000),(2,20000))); d+=b\"cue \"+struct.pack(\"<I\",len(c))+c; "
        "open(\"m.wav\",\"wb\").write(d[:4]+struct.pack(\"<I\",len(d)-8)+d[8:])'");
    command_expect(command_done("$HALO render m.wav out.wav --start 0.5 --duration 1").err,
                   "marker 1");
    command_done(
        "python3 -c 'import struct; d=open(\"out.wav\",\"rb\").read(); i=d.index(b\"cue \"); "
        "n,=struct.unpack(\"<I\",d[i+8:i+12]); p,=struct.unpack(\"<I\",d[i+32:i+36]); assert "
        "(n,p)==(1,12000),(n,p)'");
}

START_TEST(segments_of_kaldi_are_jobs)
{
    begin();
    command_done(
        "printf 'r1 a.wav\\nr2 b.flac\\nr3 cat a.wav |\\n' > wav.scp; printf 'u1 r2 0.25 "
        "0.75\\nu2 r1 1.5 -1\\n\\nu3 r2 0 2.5\\nu4 r2 0.00002 1.00004 0 \\n' > segments; $HALO batch --from kaldi wav.scp "
        "--segments segments -O K -q --gain 0 --format float");
    expect_part("K/u1.wav", "b.flac", 4000, 8000);
    expect_part("K/u2.wav", "a.wav", 24000, FRAMES - 24000);
    expect_part("K/u3.wav", "b.flac", 0, 40000);
    expect_part("K/u4.wav", "b.flac", 0, 16001);
    ck_assert_str_eq(command_done("cat K/wav.scp").out,
                     "u1 K/u1.wav\nu2 K/u2.wav\nu3 K/u3.wav\nu4 K/u4.wav\n");
    struct command_result result = command_done(
        "sed -i 's/0.75/0.8/' segments; $HALO batch --from kaldi wav.scp --segments segments -O K -q "
        "--gain 0 --format float --json");
    ck_assert_double_eq(command_number(result.out, "made"), 1);
    command_done(
        "printf 'v r3 1 2\\n' > segments; $HALO batch --from kaldi wav.scp --segments segments "
        "--allow-commands -O C -q --gain 0");
    expect_part("C/v.wav", "a.wav", 16000, 16000);
    /* What follows the part is more than a pipe holds. */
    command_done(
        "sox -n -b 16 -r 16000 long.wav synth 30 noise vol 0.5 && cp wav.scp kept && "
        "echo 'r3 cat long.wav |' > wav.scp && $HALO batch --from kaldi wav.scp --segments "
        "segments --allow-commands -O L -q --gain 0 && cp kept wav.scp");
    expect_part("L/v.wav", "long.wav", 16000, 16000);
    static const char *const lines[][2] = {
        {"u1 r9 0 1", "no recording 'r9'"},
        {"u1 r1 0", "a line"},
        {"u1 r1 1 1", "a line"},
        {"u1 r1 -1 1", "a line"},
        {"u1 r1 0 nan", "a line"},
        {"u1 r1 0 1 x", "a line"},
        {"u1 r1 0 1 -1", "a line"},
        {"u1 r1 0 1 1 1", "a line"},
        {"u1 r1 0 1 9999", "a line"},
        {"u1 r3 0 1", "--allow-commands"},
        {"u1 r1 0 -2", "a line"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        command_done("echo '%s' > segments", lines[i][0]);
        command_refused(2, lines[i][1],
                        "$HALO batch --from kaldi wav.scp --segments segments -O X --gain 0");
    }
    command_refused(1, "none.scp",
                    "$HALO batch --from kaldi none.scp --segments segments -O X --gain 0");
    command_refused(0, "directory", "$HALO batch --from kaldi wav.scp --segments . -O X --gain 0");
    command_refused(2, "--from kaldi", "$HALO batch wav.scp --segments segments -O X --gain 0");
    command_done("echo 'r1 b.flac' >> wav.scp; echo 'u r1 0 1' > segments");
    command_refused(2, "two recordings",
                    "$HALO batch --from kaldi wav.scp --segments segments -O X --gain 0");
    command_done("test ! -e X");
}

START_TEST(manifests_list_parts_as_recordings)
{
    begin();
    command_done(
        "printf '%%s\\n' '{\"audio_filepath\": \"a.wav\", \"offset\": 0.25, \"duration\": 0.5, "
        "\"text\": \"x\"}' '{\"audio_filepath\": \"a.wav\", \"offset\": 0, \"duration\": 1.0}' "
        "'{\"audio_filepath\": \"a.wav\", \"duration\": 1.5}' > m.json; $HALO batch --from nemo m.json -O N -q --gain 0");
    expect_part("N/a-0.250-0.500.wav", "a.wav", 4000, 8000);
    expect_part("N/a-0.000-1.000.wav", "a.wav", 0, 16000);
    expect_part("N/a.wav", "a.wav", 0, 24000);
    json_t *line = command_json(command_done("sed 1q N/manifest.json").out);
    ck_assert_double_eq(command_json_number(line, "offset"), 0);
    ck_assert_double_eq(command_json_number(line, "duration"), 0.5);
    command_done(
        "echo '{\"id\": \"c1\", \"start\": 0.5, \"duration\": 0.75, \"channel\": 0, \"supervisions\": "
        "[{\"id\": \"s\", \"recording_id\": \"r\", \"start\": 0.1, \"duration\": 0.2}], "
        "\"features\": {\"type\": \"fbank\"}, \"recording\": {\"id\": \"r\", "
        "\"sources\": [{\"type\": \"file\", \"channels\": [0], \"source\": \"a.wav\"}], "
        "\"sampling_rate\": 16000, \"num_samples\": 40009, \"duration\": 2.5005625}, \"type\": "
        "\"MonoCut\"}' | gzip > cuts.jsonl.gz; $HALO batch --from lhotse cuts.jsonl.gz -O L -q --gain 0 "
        "--tail none");
    expect_part("L/c1.wav", "a.wav", 8000, 12000);
    line = command_json(command_done("gzip -dc L/cuts.jsonl.gz").out);
    json_t *recording = json_object_get(line, "recording");
    ck_assert_double_eq(command_json_number(line, "start"), 0);
    ck_assert_double_eq(command_json_number(line, "duration"), 0.75);
    ck_assert_double_eq(command_json_number(recording, "num_samples"), 12000);
    ck_assert_str_eq(command_json_string(recording, "id"), "c1");
    const json_t *supervision = json_array_get(json_object_get(line, "supervisions"), 0);
    ck_assert_str_eq(command_json_string(supervision, "recording_id"), "c1");
    ck_assert_ptr_null(json_object_get(line, "features"));
    command_done("gzip -dc cuts.jsonl.gz | sed 's/\"sources\"/\"transforms\": [{\"name\": "
                 "\"Speed\"}], &/' > speed.jsonl");
    command_refused(2, "transforms its recording",
                    "$HALO batch --from lhotse speed.jsonl -O X --gain 0");
    command_done("echo '{\"audio_filepath\": \"a.wav\", \"offset\": 1}' > m.json");
    command_refused(2, "\"duration\" above 0", "$HALO batch --from nemo m.json -O X --gain 0");
    command_done(
        "echo '{\"audio_filepath\": \"a.wav\", \"offset\": -1, \"duration\": 1}' > m.json");
    command_refused(2, "from 0 on", "$HALO batch --from nemo m.json -O X --gain 0");
}
