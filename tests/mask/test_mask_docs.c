/* Every example of a mask in docs/masks.md loads. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LINE = 512, EXAMPLE = 1 << 14, INDENT = 4, EXAMPLES_LEAST = 9 };

static const char file_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), size = strlen(ending);
    return length > size && strcmp(name + length - size, ending) == 0;
}

/* Files that an example names: two channels of sound, samples of every format, or a gain. */
static void save_named(const char *name)
{
    static const double taps[4] = {0.5, 0.25, -0.125, 0.0625};
    if (ends_with(name, ".wav")) {
        sound_noise_file(name, 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 8);
    } else if (ends_with(name, ".f32") || ends_with(name, ".f64")) {
        mask_save(name, taps, sizeof taps);
    } else if (ends_with(name, ".txt")) {
        mask_save_text(name, "Preamp: -1 dB\n");
    }
}

static void save_all_named(const char *example, const char *folder)
{
    for (const char *at = example; *(at += strcspn(at, file_letters));) {
        char name[LINE];
        size_t length = strspn(at, file_letters);
        if (length < LINE / 2) {
            snprintf(name, sizeof name, "%s%.*s", folder, (int)length, at);
            save_named(name);
        }
        at += length;
    }
}

static void expect_loads(const char *example)
{
    command_clean();
    ck_assert_int_eq(mkdir(command_path("irs"), 0700), 0);
    save_all_named(example, "");
    save_all_named(example, "irs/");
    mask_save_text("example.cfg", example);
    struct command_result result =
        command_run("$HALO mask show example.cfg || $HALO mask show response:example.cfg");
    ck_assert_msg(result.code == 0, "%s\nof the example\n%s", result.err, example);
}

START_TEST(every_example_loads)
{
    char line[LINE], example[EXAMPLE] = "";
    size_t length = 0, examples = 0;
    FILE *file = fopen(HALO_DOCS "/masks.md", "r");
    ck_assert_ptr_nonnull(file);
    for (bool more = true; more;) {
        more = fgets(line, sizeof line, file) != NULL;
        bool is_code = more && strspn(line, " ") >= INDENT;
        if (is_code)
            length +=
                (size_t)snprintf(example + length, sizeof example - length, "%s", line + INDENT);
        ck_assert_uint_lt(length, sizeof example);
        if (is_code || length == 0)
            continue;
        if (strncmp(example, "halo ", 5) != 0 && strncmp(example, "--", 2) != 0) { /* no command */
            expect_loads(example);
            examples++;
        }
        length = 0;
    }
    fclose(file);
    ck_assert_uint_ge(examples, EXAMPLES_LEAST);
}
