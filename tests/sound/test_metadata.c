/* What surrounds the samples of a file, from each container to each, judged by its bytes and by
 * other programs. */
#include "command.h"
#include "render_call.h"
#include "sound/port.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"wav",  "rf64", "w64",  "aiff", "caf",
                                    "flac", "ogg",  "opus", "mp3"};
enum { KINDS = sizeof kinds / sizeof *kinds };

#define FILES "python3 -S " METADATA_SCRIPTS "/metadata_files.py "
#define CHUNKS FILES "chunks "

/* Small files of more entries than anybody has take no time that anybody notices; what is left is
 * reported. */
START_TEST(too_many_are_cut)
{
    command_clean();
    static const char *const whats[] = {"markers", "texts", "unknown", "chunks"};
    command_done(FILES
                 "many markers markers many texts texts many unknown unknown many chunks chunks");
    for (size_t i = 0; i < sizeof whats / sizeof *whats; i++) {
        command_expect(command_done("\"$HALO\" render %s out.wav -f --gain -6", whats[i]).err,
                       "some of it (it is cut short, or more than halo reads)");
        if (i == 0) /* 8,192 of 24 bytes, and their number */
            command_expect(command_done(CHUNKS "out.wav").out, "cue  196612");
    }
}

START_TEST(damaged_tag_is_reported)
{
    command_clean();
    static const char lost[] = "an ID3 tag (it is damaged)";
    command_done(FILES
                 "with tag.wav 'id3 ' 4944330300000000001001020304050607080910111213141516 "
                 "with short.wav bext 00010203 "
                 "with blank.wav 'id3 ' 4944330300000000001000000000000000000000000000000000");
    command_expect(render_done("tag.wav", "out.wav", "--gain -6").err, lost);
    command_expect(render_done("short.wav", "out.wav", "--gain -6").err, "bext (it is damaged)");
    struct command_result blank = render_done("blank.wav", "out.wav", "--gain -6");
    ck_assert_msg(!strstr(blank.err, lost), "%s", blank.err);
}

/* A file as standard input has its end, too, unless a part of it was read before. */
START_TEST(standard_input_may_be_a_file)
{
    command_clean();
    command_done(FILES "with in.wav wxyz 01020304 with other.wav abcd 01020304; "
                       "cat other.wav in.wav >late.wav");
    command_done("\"$HALO\" render - out.wav -q --gain -6 <in.wav");
    command_done(
        "{ dd bs=$(wc -c <other.wav) count=1 status=none; \"$HALO\" render - end.wav -q --gain -6; } "
        "<late.wav >first");
    command_expect(command_done(CHUNKS "out.wav end.wav; cat out.wav.chunks").out, "wxyz 4");
    const char *chunks = command_done("cat end.wav.chunks").out;
    ck_assert_msg(strncmp(chunks, "wxyz 4 ", 7) == 0 && command_lines(chunks) == 2, "%s", chunks);
}

/* A WAV of 4 GB has no room for more; chunks of an RF64 count their padding. */
START_TEST(chunks_keep_within_4_gb)
{
    command_clean();
    struct sound_metadata *metadata;
    struct metadata_buffer chunks = {0};
    ck_assert_int_eq(metadata_create(&metadata), STATUS_OK);
    ck_assert_int_eq(metadata_add_chunk(metadata, FAMILY_RIFF, "wxyz", "odd", 3), STATUS_OK);
    for (int is_rf64 = 0; is_rf64 < 2; is_rf64++) {
        ck_assert_int_eq(
            sink_metadata_plan_after(metadata, SF_FORMAT_WAV, is_rf64, UINT32_MAX - 50, &chunks),
            STATUS_OK);
        ck_assert_int_eq(metadata->chunks[0].kept, is_rf64);
        ck_assert_uint_eq(chunks.size, is_rf64 ? 12 : 0);
    }
    ck_assert_uint_eq(chunks.bytes[4], 4);
    free(chunks.bytes);
    metadata_destroy(metadata);
}

START_TEST(scene_ends_with_its_channels)
{
    command_clean();
    command_done(FILES "with in.wav chna 01000100");
    command_done("echo 1 0.5 >two.txt");
    render_done("in.wav", "same.wav", "--gain -6 --quiet");
    command_expect(render_done("in.wav", "out.wav", "--mask two.txt").err,
                   "chna (the sound changed)");
    command_expect(command_done(CHUNKS "same.wav out.wav; cat same.wav.chunks").out, "chna 4");
    ck_assert_str_eq(command_done("cat out.wav.chunks").out, "size right\n");
}

/* Once: a dozen programs make it. No test changes these files. */
static void make_corpus(void)
{
    static bool is_made;
    if (is_made)
        return;
    command_done(METADATA_SCRIPTS "/metadata_corpus.sh " METADATA_SCRIPTS "/metadata_files.py");
    is_made = true;
}

/* The chunks of a RIFF come back as they were by way of each container that holds them; of bext,
 * the coding history has a line more for each render. */
START_TEST(chunks_come_back)
{
    static const char *const ways[] = {"wav", "rf64", "flac"};
    make_corpus();
    command_done(CHUNKS "in.wav | grep -v ^bext | sed 's/ [a-z]*$//' | sort >old");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        command_done("\"$HALO\" render in.wav way.%s -qf --gain -6", ways[i]);
        command_done("\"$HALO\" render way.%s back.wav -qf --gain -6", ways[i]);
        command_done(CHUNKS "back.wav | grep -v ^bext >new");
        if (strcmp(ways[i], "rf64") == 0) { /* which counts the padding of odd ones */
            command_done(
                "cut -d' ' -f1 new | sort >names; cut -d' ' -f1 old | sort | diff - names");
            continue;
        }
        command_done("grep ' before' new && exit 1; sed 's/ [a-z]*$//' new | sort | diff old -");
        command_done("ffprobe -v error -show_entries format_tags back.wav >tags");
        const char *tags = command_done("cat tags").out;
        command_expect(tags, "TAG:time_reference=4886718345"); /* 0x123456789 */
        command_expect(tags, "T=a microphone\r\nA=PCM,F=48000,W=16,M=mono,T=halo ");
        command_expect(command_done("exiftool -TimeReference -Description back.wav").out,
                       "4886718345");
    }
}

/* What flac itself stored is read, and flac itself reads what halo stored. */
START_TEST(flac_exchanges_foreign_chunks)
{
    make_corpus();
    command_done(CHUNKS
                 "in.wav | grep '^smpl\\|^wxyz\\|^cue\\|^iXML' | sed 's/ [a-z]*$//' | sort >old");
    render_done("foreign.flac", "back.wav", "--gain -6 --quiet");
    command_done(CHUNKS
                 "back.wav | grep '^smpl\\|^wxyz\\|^cue\\|^iXML' | sed 's/ [a-z]*$//' | sort | "
                 "diff old -");
    render_done("in.wav", "way.flac", "--gain -6 --quiet");
    command_done(
        "flac -s -t way.flac && flac -s -d -f --keep-foreign-metadata way.flac -o back.wav");
    command_done(CHUNKS
                 "back.wav | grep '^smpl\\|^wxyz\\|^cue\\|^iXML' | sed 's/ [a-z]*$//' | sort | "
                 "diff old -");
    render_done("in.aiff", "way.flac", "--gain -6 --quiet");
    command_done("flac -s -d -f --keep-foreign-metadata way.flac -o back.aiff");
    command_expect(command_done(CHUNKS "back.aiff").out, "APPL 18");
}

static bool has_cover(const char *from, const char *to)
{
    return strcmp(from, "ogg") != 0 && strcmp(to, "caf") != 0 && strcmp(to, "w64") != 0 &&
           strcmp(to, "rf64") != 0;
}

/* Tags, several of a name, names of one's own, and pictures, as other programs see them. Each of
 * these programs starts once, and reads all outputs: FROM-KIND.KIND.exif, .media and .ffmpeg are
 * its words. */
START_TEST(tags_are_there_for_others)
{
    static const char *const from[] = {"flac", "ogg", "opus", "mp3"};
    char names[1024] = "", covers[4096] = "", name[64];
    size_t names_length = 0, covers_length = 0, count = 0;
    make_corpus();
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < KINDS; k++, count++) {
            command_done("\"$HALO\" render in.%s %s-%s.%s -qf --gain -6 2>err", from[i], from[i],
                         kinds[k], kinds[k]);
            /* No other program here reads tags of W64: it has them if they come back. */
            if (strcmp(kinds[k], "w64") == 0)
                command_done("\"$HALO\" render %s-w64.w64 %s-w64.flac -qf --gain 0 && "
                             "mv %s-w64.flac %s-w64.w64",
                             from[i], from[i], from[i], from[i]);
            names_length += (size_t)snprintf(names + names_length, sizeof names - names_length,
                                             " %s-%s.%s", from[i], kinds[k], kinds[k]);
            if (has_cover(from[i], kinds[k]))
                covers_length +=
                    (size_t)snprintf(covers + covers_length, sizeof covers - covers_length,
                                     " -map %zu:v -c copy %s-%s.png", count, from[i], kinds[k]);
        }
    command_done(
        "files='%s'; exiftool -q -a -w %%f.%%e.exif $files; mediainfo $files | "
        "awk '/^Complete name/ {f = $NF \".media\"} f {print >f}' && "
        "for f in $files; do in=\"$in -i $f\"; done && ffmpeg -nostdin -hide_banner -y $in "
        "%s 2>&1 | awk -F \"'\" '/^Input/ {f = $2 \".ffmpeg\"} /^(Stream|Output)/ {f = \"\"} "
        "f {print >f}'",
        names, covers);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < KINDS; k++) {
            snprintf(name, sizeof name, "%s-%s.%s", from[i], kinds[k], kinds[k]);
            const char *seen = command_done("cat %s.exif %s.media %s.ffmpeg", name, name, name).out;
            command_expect(seen, "A title");
            command_expect(seen, "my value");
            if (strcmp(from[i], "mp3") != 0)
                command_expect(seen, "two");
            ck_assert_msg(!strstr(seen, "REPLAYGAIN") && !strstr(seen, "R128_TRACK"), "%s", seen);
            if (has_cover(from[i], kinds[k]))
                command_done("cmp %s-%s.png cover.png", from[i], kinds[k]);
        }
}

/* CAF has no place for them, which is said; all else of those files is kept. */
START_TEST(pictures_do_not_go_into_caf)
{
    static const char *const from[] = {"flac", "opus", "mp3"};
    make_corpus();
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        struct command_result result =
            command_done("\"$HALO\" render in.%s out.caf -f --gain -6", from[i]);
        command_expect(result.err, "1 picture (the container has no place for it)");
        command_done("! strings out.caf | grep -e PNG -e METADATA_BLOCK_PICTURE");
        command_expect(command_done("\"$HALO\" render out.caf back.flac -qf --gain 0 && "
                                    "metaflac --export-tags-to=- back.flac")
                           .out,
                       "MYTAG=my value");
    }
}

START_TEST(markers_keep_their_places)
{
    static const char *const ways[] = {"aiff", "caf"};
    make_corpus();
    for (size_t i = 0; i < 2; i++)
        command_done("\"$HALO\" render in.wav way.%s -qf --gain -6 && "
                     "\"$HALO\" render way.%s back-%s.wav -qf --gain -6",
                     ways[i], ways[i], ways[i]);
    command_done(FILES "marks back-aiff.wav back-caf.wav");
    for (size_t i = 0; i < 2; i++)
        command_done("for frame in 100 4000 5000; do "
                     "grep -qx \"marker $frame\" back-%s.wav.marks || exit; done && "
                     "grep -q first back-%s.wav && grep -q region back-%s.wav && "
                     "grep -q third back-%s.wav",
                     ways[i], ways[i], ways[i], ways[i]);
}

/* A loop survives a gain, and not a room, whose sound at the end is not that at the beginning. */
START_TEST(loops_end_with_a_tail)
{
    make_corpus();
    render_done("in.wav", "gain.wav", "--gain -6 --quiet");
    command_expect(command_done(CHUNKS "gain.wav").out, "smpl 63");
    struct command_result room = render_done("in.wav", "room.wav", "--mask lowpass:1000");
    command_expect(room.err, "inst, smpl (loops are kept by whole sounds through gains alone)");
}

START_TEST(streams_keep_it_too)
{
    static const char *const ways[] = {"flac", "ogg", "opus", "mp3"};
    make_corpus();
    struct command_result result =
        command_done("\"$HALO\" render in.wav - --gain -6 | cat >way.wav");
    command_expect(result.err,
                   "smpl, inst, wxyz (there is no room for it in front of the samples)");
    command_done("\"$HALO\" render way.wav - -q --gain -6 | cat >file.wav");
    command_done("cat way.wav | \"$HALO\" render - - -q --gain -6 | cat >stream.wav");
    command_done(CHUNKS "file.wav stream.wav; diff file.wav.chunks stream.wav.chunks");
    command_expect(command_done("grep 'bext\\|iXML\\|cue\\|INFO\\|adtl' file.wav.chunks | "
                                "grep -c before")
                       .out,
                   "5");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        command_done("cat in.%s | \"$HALO\" render - - -q --gain -6 --container %s | cat >way.%s",
                     ways[i], ways[i], ways[i]);
        command_expect(command_done("exiftool way.%s; strings way.%s", ways[i], ways[i]).out,
                       "my value");
    }
    command_done("flac -s -t way.flac");
}

START_TEST(user_decides)
{
    make_corpus();
    render_done("in.wav", "none.wav", "--gain -6 --metadata none --quiet");
    ck_assert_str_eq(command_done(CHUNKS "none.wav").out, "size right\n");
    command_done("echo '{\"tags\": {\"title\": \"Another\", \"ARTIST\": [\"x\", \"y\"], \"MYTAG\": "
                 "null}}' >tags.json");
    render_done("in.flac", "out.flac", "--gain -6 --metadata tags.json --quiet");
    command_done(
        "{ printf '\\357\\273\\277'; cat tags.json; } >marked.json && \"$HALO\" render in.flac "
        "marked.flac -qf --gain -6 --metadata marked.json && cmp marked.flac out.flac");
    command_expect(command_done("ffprobe -v error -show_entries format_tags out.flac").out,
                   "TAG:TITLE=Another\nTAG:ARTIST=x;y\n[/FORMAT]");
    command_done("echo '{\"tags\": {\"TITLE\": 3}}' >wrong.json; echo '{' >broken.json");
    command_refused(1, "tag 'TITLE' is to be a string",
                    "\"$HALO\" render in.flac o.flac --metadata "
                    "wrong.json");
    command_refused(1, "line 2", "\"$HALO\" render in.flac o.flac --metadata broken.json");
    command_refused(1, "absent.json", "\"$HALO\" render in.flac o.flac --metadata absent.json");
}

/* A chunk that claims more than there is costs no memory and is not kept in silence. */
START_TEST(false_sizes_cost_nothing)
{
    make_corpus();
    command_done(FILES "cut cut.wav 4294967280");
    long plain = command_memory("\"$HALO\" render in.wav out.wav -qf --gain -6");
    long cut = command_memory("\"$HALO\" render cut.wav out.wav -qf --gain -6");
    ck_assert_int_lt(cut, plain + 20000);
    command_expect(render_done("cut.wav", "out.wav", "--gain -6").err,
                   "some of it (it is cut short");
}

/* What a pair drops because OUT has no place for it, as --json says it. */
static void dropped_by(const char *from, const char *to, char *text, size_t size)
{
    struct command_result run =
        command_done("\"$HALO\" render in.%s out.%s -qf --gain -6 --json", from, to);
    json_t *report = command_json(run.out), *loss;
    size_t i, length = 0;
    *text = '\0';
    json_array_foreach(json_object_get(json_object_get(report, "metadata"), "dropped"), i, loss)
    {
        const char *why = command_json_string(loss, "why");
        if (!strstr(why, "has no place") && !strstr(why, "no room"))
            continue;
        length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "",
                                   command_json_string(loss, "what"));
    }
    if (length == 0)
        snprintf(text, size, "all kept");
}

/* The table in docs/files.md is what happens; it has a row for each family. */
START_TEST(table_is_true)
{
    make_corpus();
    char text[512], row[4096];
    for (size_t i = 0; i < KINDS; i++) {
        if (strstr("rf64 w64 ogg opus mp3", kinds[i]))
            continue;
        size_t length = (size_t)snprintf(row, sizeof row, "| %s |", kinds[i]);
        for (size_t k = 0; k < KINDS; k++) {
            dropped_by(kinds[i], kinds[k], text, sizeof text);
            length += (size_t)snprintf(row + length, sizeof row - length, " %s |", text);
        }
        snprintf(row + length, sizeof row - length, "\n");
        struct command_result found =
            command_run("grep '^| %s |' \"%s/files.md\"", kinds[i], METADATA_DOCS);
        ck_assert_msg(found.code == 0 && strcmp(found.out, row) == 0,
                      "docs/files.md has\n%sand should have\n%s", found.out, row);
    }
}

/* scripts/setup test installs them. */
static bool has_programs(void)
{
    return system("for p in flac lame oggenc vorbiscomment opusenc ffmpeg exiftool mediainfo; do "
                  "command -v $p || exit 1; done >/dev/null 2>&1") == 0;
}

int main(void)
{
    enum { SKIPPED = 77 };
    bool are_there = has_programs();
    suite_keeps_files = true;
    if (!are_there)
        suite_leave_out("chunks_come_back flac_exchanges_foreign_chunks tags_are_there_for_others "
                        "pictures_do_not_go_into_caf markers_keep_their_places "
                        "loops_end_with_a_tail streams_keep_it_too user_decides "
                        "false_sizes_cost_nothing table_is_true");
    int failed = suite_run();
    if (failed || are_there)
        return failed;
    puts("skipped: what scripts/setup test installs is not all there");
    return SKIPPED;
}
