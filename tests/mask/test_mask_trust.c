/* Which files a configuration may name. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"

#include <sys/stat.h>

#define READING(NAME) "/convolver/new 1 1 64 100\n/impulse/read 1 1 1 0 0 0 1 " NAME "\n"

/* config/ is what was downloaded; irs/a.wav lies beside it and is linked from it. */
static void make_files(void)
{
    command_done("mkdir -p config irs");
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 1);
    sound.block.data[0][0] = 0.5f;
    sound_save(&sound, "irs/a.wav");
    command_done("ln -s ../irs/a.wav config/link.wav && ln -s ../irs config/folder");
}

static void expect_half(const char *name, const struct mask_load_options *options)
{
    struct mask *mask = mask_loaded(name, options);
    mask_expect_path(mask, 0, 0, 1, (double[]){0.5});
}

static void refuse(const struct mask_load_options *options, const char *text, const char *expected)
{
    char message[1024] = "";
    struct mask *mask;
    mask_save_text("config/r.conf", text);
    log_capture(message, sizeof message);
    enum status status = mask_load_with(command_path("config/r.conf"), options, &mask);
    log_capture(NULL, 0);
    ck_assert_msg(status == STATUS_FAILED, "it was read:\n%s", text);
    command_expect(message, expected);
    command_expect(message, "line 2: ");
}

/* The user named the configuration, and it names the file. */
START_TEST(any_regular_file)
{
    make_files();
    char text[4200];
    snprintf(text, sizeof text, "/cd %s/irs\n" READING("a.wav"), command_folder());
    mask_save_text("config/absolute.conf", text);
    expect_half("config/absolute.conf", NULL);
    mask_save_text("config/relative.conf", "/cd ../irs\n" READING("a.wav"));
    expect_half("config/relative.conf", NULL);
    mask_save_text("config/plain.conf", READING("../irs/a.wav"));
    expect_half("config/plain.conf", NULL);
    command_done("ln -s config elsewhere");
    expect_half("elsewhere/relative.conf", NULL); /* the user's own link */
}

START_TEST(links_and_devices)
{
    make_files();
    const struct mask_load_options none = {0};
    struct mask_load_options allowing = {.folder = "/"};
    refuse(&none, READING("link.wav"), "link.wav is a symbolic link out of ");
    refuse(&none, READING("link.wav"), "allow its folder with folder=");
    refuse(&none, READING("folder/a.wav"), "folder/a.wav is a symbolic link out of ");
    refuse(&none, READING("folder/../irs/a.wav"), "is a symbolic link out of ");
    mask_save_text("config/link.conf", READING("link.wav"));
    expect_half("config/link.conf", &allowing);
    ck_assert_int_eq(mkfifo(command_path("config/fifo"), 0600), 0);
    refuse(&none, READING("fifo"), "it is not a regular file");
    refuse(&allowing, READING("/dev/zero"), "it is not a regular file");
    command_done("ln -s a.wav config/inner.wav && cp irs/a.wav config/");
    mask_save_text("config/inner.conf", READING("inner.wav"));
    expect_half("config/inner.conf", NULL);
}

START_TEST(without_trust)
{
    make_files();
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", command_path("irs"));
    const struct mask_load_options strict = {.distrusts_configs = true};
    const struct mask_load_options allowing = {.distrusts_configs = true, .folder = folder};
    refuse(&strict, READING("../irs/a.wav"), "../irs/a.wav lies outside of ");
    refuse(&strict, READING("link.wav"), "(trust-config=no); put the file itself there");
    refuse(&strict, READING("/etc/passwd"), "lies outside of ");
    mask_save_text("config/a.conf", READING("../irs/a.wav"));
    expect_half("config/a.conf", &allowing);
    command_done("cp irs/a.wav config/"); /* a foreign path: the file of its name */
    mask_save_text("config/a.cfg", "48000 1 1 0\n0\n0\nC:\\Filters\\a.wav\n0\n0\n0\n");
    expect_half("config/a.cfg", &strict);
}

START_TEST(on_the_command_line)
{
    make_files();
    mask_save_text("config/a.conf", READING("../irs/a.wav"));
    command_done("cp irs/a.wav in.wav");
    command_done("\"$HALO\" render in.wav out.wav -f --mask config/a.conf");
    command_done("\"$HALO\" render in.wav out.wav -f --trust-config yes --mask config/a.conf");
    command_done("rm out.wav");
    command_refused(1, "lies outside of ",
                    "\"$HALO\" render in.wav out.wav --trust-config=no --mask config/a.conf");
    mask_spec_refused(1, "lies outside of ", "config/a.conf,trust-config=no", NULL);
    command_refused(1, "lies outside of ",
                    "\"$HALO\" mask convert config/a.conf out.wav --trust-config=no");
    mask_save_text("config/eq.txt", "Convolution: ../irs/a.wav\n");
    command_done("\"$HALO\" render in.wav b.wav --mask invert:config/eq.txt");
    command_refused(
        1, "lies outside of ",
        "\"$HALO\" render in.wav out.wav --trust-config=no --mask invert:config/eq.txt");
    mask_spec_refused(2, "trust-config=", "config/a.conf,trust-config=maybe", NULL);
    command_done("\"$HALO\" mask convert config/a.conf out.wav --trust-config=no --folder irs");
}
