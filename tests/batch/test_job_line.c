/* Lines of jobs that are not parsed: what is found in them is what a JSON parser finds, whatever
 * the line; and only ordinary lines are accepted. */
#include "base/cache_file.h"
#include "base/noise.h"
#include "batch/batch_job.h"
#include "batch/sum_set.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 200000, ROOM = 4096 };

static const char ordinary[] =
    " { \"in\" : \"in/s1.wav\",\t\"mask\": [\"r\\\\\\\"7}.wav,gain=-3\", 1e-3, {\"id\": \"no\", "
    "\"x\": [[], {}]}], \"id\":\"utt1-r7\", \"edge}\": null, \"o\": \"\xc3\xa9\", \"out\":"
    "\"r7/utt1.flac\", \"gain\": -2.5 } ";

static bool equals(const struct job_text *text, const char *wanted)
{
    return text->length == strlen(wanted) && memcmp(text->text, wanted, text->length) == 0;
}

START_TEST(an_ordinary_line_is_accepted_and_no_beginning_of_it)
{
    struct job_line job;
    ck_assert(job_line_scan(ordinary, &job));
    ck_assert(equals(&job.id, "utt1-r7"));
    ck_assert(equals(&job.in, "in/s1.wav"));
    ck_assert(equals(&job.out, "r7/utt1.flac"));
    char cut[sizeof ordinary];
    memcpy(cut, ordinary, sizeof cut);
    for (size_t length = strlen(cut) - 2; length-- > 0;) {
        cut[length] = '\0';
        ck_assert_msg(!job_line_scan(cut, &job), "%s", cut);
    }
}

START_TEST(other_lines_are_left_to_the_parser)
{
    static const char *const lines[] = {
        "",
        "{}",
        "[]",
        "\"id\"",
        "{\"in\": \"a\", \"out\": \"b\"}",                       /* no id */
        "{\"id\": 5, \"in\": \"a\", \"out\": \"b\"}",            /* a number */
        "{\"id\": null, \"in\": \"a\", \"out\": \"b\"}",         /* nothing */
        "{\"id\": [\"x\"], \"in\": \"a\", \"out\": \"b\"}",      /* a list */
        "{\"id\": \"\", \"in\": \"a\", \"out\": \"b\"}",         /* the output's name */
        "{\"id\": \"x\\u0041\", \"in\": \"a\", \"out\": \"b\"}", /* escapes */
        "{\"id\": \"x\\\"\", \"in\": \"a\", \"out\": \"b\"}",    /* */
        "{\"id\": \"\xc3\xa9\", \"in\": \"a\", \"out\": \"b\"}", /* may be no UTF-8 */
        "{\"id\": \"\xff\", \"in\": \"a\", \"out\": \"b\"}",     /* is none */
        "{\"id\": \"a\tb\", \"in\": \"a\", \"out\": \"b\"}",     /* control characters */
        "{\"id\": \"x\", \"\\u0069d\": \"y\", \"in\": \"a\", \"out\": \"b\"}", /* twice */
        "{\"id\": \"x\", \"id\": \"x\", \"in\": \"a\", \"out\": \"b\"}",
        "{\"id\": \"x\", \"in\": \"a\", \"out\": \"b\", \"in\": \"c\"}",
        "{\"m\": {\"id\": \"x\"}, \"in\": \"a\", \"out\": \"b\"}", /* not the job's */
        "{\"m\": \"\\\", \\\"id\\\": \\\"x\", \"in\": \"a\", \"out\": \"b\"}",
        "\xef\xbb\xbf{\"id\": \"x\", \"in\": \"a\", \"out\": \"b\"}", /* a mark of Unicode */
        "{\"id\": \"x\", \"in\": \"a\", \"out\": \"b\"} {}",          /* more */
        "{\"id\": \"x\", \"in\": \"a\", \"out\": \"b\"}}",
        "{\"id\": \"x\", \"in\": \"a\", \"out\": \"b\",}",
        "{\"id\": \"x\" \"in\": \"a\", \"out\": \"b\"}",
        "{\"id\": \"x\", \"in\": \"a\", \"out\": \"../b\"}", /* not as they are written */
        "{\"id\": \"x\", \"in\": \"a\", \"out\": \"/b\"}",
        "{\"id\": \"x\", \"in\": \"a\", \"out\": \"./b\"}",
        "{\"id\": \"x\", \"in\": \"a\", \"out\": \"c//b\"}",
        "{\"id\": \"x\", \"in\": \"a\", \"out\": \"c/./b\"}",
        "{\"id\": \"x\", \"in\": \"a\", \"out\": \"c/../b\"}",
        "{\"id\": \"x\", \"in\": \"a\", \"out\": \"c/\"}",
    };
    struct job_line job;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(!job_line_scan(lines[i], &job), "%s", lines[i]);
}

/* ---- made-up lines ---- */

static size_t below(uint64_t *state, size_t count)
{
    *state = noise_hash(*state);
    return (size_t)(*state % count);
}

#define ANY(state, texts) (texts)[below(state, sizeof(texts) / sizeof *(texts))]

static void put(char *line, const char *text)
{
    if (strlen(line) + strlen(text) < ROOM)
        strcat(line, text);
}

static void put_value(char *line, uint64_t *state, int depth)
{
    static const char *const plain[] = {"\"utt1\"",
                                        "\"a b\"",
                                        "\"r7/utt1.flac\"",
                                        "\"x\"",
                                        "7",
                                        "-1.5e3",
                                        "true",
                                        "null",
                                        "\"\"",
                                        "\"\\\\\"",
                                        "\"\\\"\"",
                                        "\"{\\\"id\\\":1}\"",
                                        "\"\\u0069d\"",
                                        "\"\\\\\\\"\"",
                                        "\"\xc3\xa9\"",
                                        "\"\xff\"",
                                        "\"../x\"",
                                        "\"a//b\"",
                                        "\"a/.b\"",
                                        "\".\"",
                                        "\"a/b/c.wav\"",
                                        "\"/x\"",
                                        "\"x/\"",
                                        "\"}\"",
                                        "\"]\"",
                                        "\"\\\\\\\\\"",
                                        "\"\x7f\"",
                                        "\"\x1f\"",
                                        "01",
                                        "nul"};
    size_t kind = depth < 3 ? below(state, 8) : 2;
    if (kind > 1) {
        put(line, ANY(state, plain));
        return;
    }
    put(line, kind ? "[" : "{");
    for (size_t count = below(state, 4); count > 0; count--) {
        static const char *const names[] = {"\"id\": ", "\"in\":", "\"out\" :", "\"x\":"};
        if (!kind)
            put(line, ANY(state, names));
        put_value(line, state, depth + 1);
        put(line, count > 1 ? "," : "");
    }
    put(line, kind ? "]" : "}");
}

static void put_member(char *line, uint64_t *state, const char *name)
{
    static const char *const texts[] = {"\"utt1\"", "\"b.wav\"", "\"r7/b.wav\"", "\"a-b_c.0\""};
    static const char *const spaces[] = {"", "", " ", "\t", "\r", "\n ", "  "};
    static const char *const colons[] = {":", ": ", " :", "\t:\r"};
    put(line, ANY(state, spaces));
    put(line, name);
    put(line, ANY(state, colons));
    if (below(state, 3))
        put(line, ANY(state, texts));
    else
        put_value(line, state, 0);
    put(line, ANY(state, spaces));
}

/* The three members among others, in any order, mostly once; then a few bytes may change. */
static void make_line(char line[ROOM], uint64_t *state)
{
    static const char *const names[] = {"\"id\"", "\"in\"", "\"out\""};
    static const char *const more[] = {"\"mask\"", "\"gain\"",     "\"i\\u0064\"", "\"x\\\"\"",
                                       "\"\"",     "\"\xc3\xa9\"", "\"id\"",       "\"ids\""};
    static const char *const begins[] = {"{", "{", "{", " {", "\xef\xbb\xbf{", "[{", ""};
    static const char *const ends[] = {"}", "}", "}", "} ", "}\r", "}}", "} x", "", ",}"};
    static const char bytes[] = "\"\\{}[]:,.i/ \n0";
    size_t first = below(state, 3);
    strcpy(line, ANY(state, begins));
    for (size_t i = 0; i < 3; i++) {
        if (below(state, 20) == 0)
            continue;
        for (size_t others = below(state, 4) / 2; others > 0; others--) {
            put_member(line, state, ANY(state, more));
            put(line, ",");
        }
        put_member(line, state, names[(first + i) % 3]);
        put(line, i < 2 ? "," : "");
    }
    put(line, ANY(state, ends));
    size_t length = strlen(line);
    for (size_t changes = below(state, 4) / 3; length > 0 && changes > 0; changes--)
        line[below(state, length)] = bytes[below(state, sizeof bytes - 1)];
}

/* Whether the parser takes it as well; then as the same job. */
static bool is_parsed_alike(const char *line, const struct job_line *found)
{
    static const struct batch_options defaults = {.render.out_dir = "D"};
    struct batch_job job;
    bool is_job = false;
    json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    if (root) {
        ck_assert_msg(batch_job_identify(&defaults, line, &job) == STATUS_OK, "%s", line);
        ck_assert_msg(equals(&found->id, job.id), "%s", line);
        ck_assert_msg(equals(&found->in, job.options.input), "%s", line);
        ck_assert_msg(equals(&found->out, job.name), "%s", line);
        ck_assert_msg(strncmp(job.output, "D/", 2) == 0 && equals(&found->out, job.output + 2),
                      "%s", line);
        ck_assert_uint_eq(cache_file_sum(CACHE_FILE_SUM, found->id.text, found->id.length),
                          batch_id_sum(job.id));
        batch_job_free(&job);
        is_job = true;
    }
    json_decref(root);
    return is_job;
}

START_TEST(made_up_lines_are_found_as_they_are_parsed)
{
    size_t accepted = 0, alike = 0;
    uint64_t state = 20261123;
    for (size_t i = 0; i < LINES; i++) {
        char line[ROOM];
        struct job_line job;
        make_line(line, &state);
        if (job_line_scan(line, &job)) {
            accepted++;
            alike += is_parsed_alike(line, &job);
        }
    }
    ck_assert_uint_gt(alike, LINES / 50);
    ck_assert_uint_gt(accepted, alike); /* faults that do not concern a job's name */
    ck_assert_uint_lt(accepted, LINES / 2);
}

START_TEST(a_set_knows_what_is_in_it)
{
    enum { SUMS = 20000 };
    struct sum_set set = {0};
    size_t earlier;
    ck_assert_uint_eq(sum_set_place(&set, 1), 0);
    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t i = 1; i <= SUMS; i++) {
            uint64_t sum = i % 3 ? noise_hash(i) : i << 40; /* many fall to one place */
            ck_assert_int_eq(sum_set_add(&set, sum, i + round, &earlier), STATUS_OK);
            ck_assert_uint_eq(earlier, round == 0 ? 0 : i);
            ck_assert_uint_eq(sum_set_place(&set, sum), i);
            ck_assert_uint_eq(sum_set_place(&set, sum ^ 1), 0);
        }
    ck_assert_uint_eq(set.count, SUMS);
    ck_assert_uint_eq(sum_set_place(&set, 0), 0);
    sum_set_free(&set);
}
