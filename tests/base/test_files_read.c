/* No file that a command reads is ever its output, under whatever name, forced or not; and what is
 * not a file is not waited for. */
#include "base/files_read.h"
#include "base/workers.h"
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A sound, masks under several names, and configurations that name them. */
static void begin(void)
{
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 4800);
    sound_text("m.txt", "0.5\n0.25\n");
    sound_text("box.mask2d", "0.5 0.5\n");
    sound_text("j.conf", "/convolver/new 1 1 64 100\n/impulse/read 1 1 1 0 0 0 1 m.wav\n");
    sound_text("b.conf",
               "sampling_rate: 48000;\n"
               "input 0 { device: \"file\" { path: \"x\"; }; sample: \"S16_LE\"; channels: 1; };\n"
               "output 0 { device: \"file\" { path: \"y\"; }; sample: \"S16_LE\"; channels: 1; };\n"
               "coeff 0 { filename: \"m.txt\"; format: \"text\"; };\n"
               "filter 0 { from_inputs: 0; to_outputs: 0; coeff: 0; };\n");
    sound_text("e.txt", "Include: e2.txt\n");
    sound_text("e2.txt", "Preamp: -6 dB\n");
    sound_text("d.yml", "devices:\n  samplerate: 48000\n  chunksize: 1024\n"
                        "  capture: {type: Alsa, channels: 1}\n"
                        "filters:\n  text:\n    type: Conv\n"
                        "    parameters: {type: Raw, filename: m.txt, format: TEXT}\n"
                        "pipeline:\n  - {type: Filter, channel: 0, names: [text]}\n");
    command_done("\"$HALO\" mask convert m.txt m.wav --rate 48000 && ln -s m.wav link.wav && "
                 "ln m.wav hard.wav && mkdir sub && ln -s m.txt link.txt && ln e2.txt e3.txt");
}

/* ---- files ---- */

/* Arguments that name an existing file as the output. All files stay as they are. */
static void expect_kept(const char *const *commands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        command_done("find . -type f | xargs sha256sum >.sums");
        struct command_result result =
            command_run("timeout -s KILL 20 \"$HALO\" %s -f", commands[i]);
        ck_assert_msg(result.code == 1, "%s: exit code %d\n%s", commands[i], result.code,
                      result.err);
        command_expect(result.err, "this command reads it; choose another name");
        command_done("sha256sum -c --quiet .sums; rm .sums");
    }
}

#define EXPECT_KEPT(...)                                                                           \
    expect_kept((const char *const[]){__VA_ARGS__},                                                \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

START_TEST(what_render_reads_is_kept)
{
    begin();
    command_done("\"$HALO\" render in.wav out.wav --mask m.txt --save-chain c.yml");
    EXPECT_KEPT("render in.wav in.wav --gain 1", "render in.wav - --gain 1 1<>in.wav",
                "render - in.wav --gain 1 <in.wav", "render in.wav m.wav --mask m.wav",
                "render in.wav ./sub/../m.wav --mask m.wav", "render in.wav link.wav --mask m.wav",
                "render in.wav hard.wav --mask link.wav", "render in.wav m.wav --mask invert:m.wav",
                "render in.wav m.wav --mask j.conf",
                "render in.wav j.conf --container wav --mask j.conf",
                "render in.wav link.txt --container wav --mask b.conf",
                "render in.wav m.txt --container wav --mask d.yml",
                "render in.wav e3.txt --container wav --mask e.txt",
                "render in.wav box.mask2d --container wav --spectral box.mask2d",
                "render in.wav c.yml --container wav --chain c.yml",
                "render in.wav m.txt --container wav --chain c.yml",
                "render in.wav out.wav --mask m.txt --save-chain m.txt",
                "render in.wav out.wav --gain 1 --save-chain in.wav",
                "render in.wav out.wav --chain c.yml --save-chain c.yml");
}

START_TEST(what_others_read_is_kept)
{
    begin();
    command_done("cp in.wav in.png; cp m.wav m.png; cp m.txt rec.wav.log");
    EXPECT_KEPT("listen in.wav --mask m.wav --or --mask m.txt --to-file link.wav",
                "listen in.wav --mask m.wav --or --mask m.txt --to-file in.wav",
                "mask convert m.txt ./m.txt", "mask convert j.conf m.wav",
                "mask make invert:m.wav -o hard.wav", "spectrogram in.png -o sub/../in.png",
                "mask plot m.png -o m.png");
#define LIVE "live --plain --seconds 0.1 --device null:in=in.wav,pace=0"
    EXPECT_KEPT(LIVE " --mask m.wav --record link.wav", LIVE " --gain 1 --record-dry in.wav");
    command_refused(1, "rec.wav.log: this command reads it",
                    "\"$HALO\" " LIVE
                    " --mask rec.wav.log --record rec.wav -f; s=$?; rm -f rec.wav; "
                    "exit $s");
}

/* A file may be read only after the output was opened. */
START_TEST(what_is_read_later_is_kept)
{
    begin();
    command_done("cp m.wav later.wav; \"$HALO\" live --plain --seconds 0.1 --gain 0 "
                 "--device null:in=in.wav,pace=0 --mask m.txt --record-dry dry.wav");
    command_done("echo '{\"frame\": 64, \"event\": \"load\", \"choice\": 1, \"mask\": "
                 "\"later.wav\"}' >>dry.wav.log");
    struct command_result result = command_run(
        "\"$HALO\" render dry.wav later.wav -f --replay dry.wav.log && exit 0; cmp later.wav m.wav");
    ck_assert_int_eq(result.code, 0);
    command_expect(result.err, "cannot write later.wav: ");
    EXPECT_KEPT("render dry.wav dry.wav.log --container wav --replay dry.wav.log");
}

/* ---- what is not a file ---- */

START_TEST(fifos_are_not_waited_for)
{
    static const char *const commands[] = {
        "mask show fifo",
        "mask plot fifo",
        "mask convert fifo,raw=F32_LE out.wav --rate 48000",
        "mask show /dev/zero",
        "mask show socket",
        "render in.wav out.wav --mask j.conf",
        "render in.wav out.wav --mask e.txt",
        "render in.wav out.wav --mask d.yml",
        "render in.wav out.wav --spectral fifo",
        "render in.wav out.wav --chain fifo",
        "chain check fifo",
        "live --plain --seconds 0.1 --device null:pace=0 --mask fifo",
    };
    begin();
    command_done("mkfifo fifo && rm m.wav m.txt e2.txt && ln -s fifo m.wav && ln -s fifo m.txt && "
                 "ln -s fifo e2.txt");
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%s", command_path("socket"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        command_refused(1, "it is not a regular file", "timeout -s KILL 10 \"$HALO\" %s",
                        commands[i]);
    close(fd);
}

/* Replaced by a file, a device would be lost to all programs. */
START_TEST(what_is_no_file_is_not_replaced)
{
    static const char *const commands[] = {
        "render in.wav out.wav -f --gain 0 --save-chain fifo",
        "mask convert in.wav to-fifo.txt --force",
    };
    begin();
    command_done("mkfifo fifo && ln -s fifo to-fifo.txt");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        command_refused(1, "it is not a regular file", "timeout -s KILL 10 \"$HALO\" %s",
                        commands[i]);
    command_done("test -p fifo && test ! -e out.wav");
}

/* A sound and a log may come through one. */
START_TEST(streams_are_read)
{
    begin();
    command_done("\"$HALO\" render in.wav out.wav --mask m.txt && mkfifo fifo && "
                 "(cat in.wav >fifo &) && \"$HALO\" render fifo a.wav --mask m.txt && "
                 "cat in.wav | \"$HALO\" render /dev/fd/0 b.wav --mask m.txt && "
                 "cmp a.wav out.wav && cmp a.wav b.wav");
    command_done("\"$HALO\" live --plain --seconds 0.1 --device null:in=in.wav,pace=0 --gain -3 "
                 "--record-dry dry.wav && "
                 "cat dry.wav.log | \"$HALO\" render dry.wav c.wav --replay /dev/fd/0");
}

/* ---- files that are there by chance ---- */

/* Every sound, and text as a mask, into a folder; streams that cannot be read leave no file. */
#define RENDER_ALL(folder)                                                                         \
    "mkdir " folder " && \"$HALO\" render in.wav " folder "/mask.wav --mask taps.txt && "          \
    "for f in in.*; do \"$HALO\" render $f " folder "/$f.wav --gain 0 || exit 1; "                 \
    "cat $f | \"$HALO\" render - " folder "/stream-$f.wav --gain 0; test $? -le 1 || exit 1; done"

/* libsndfile looks for resource forks, which Macintosh file servers leave behind. */
START_TEST(resource_forks_are_ignored)
{
    static const char *const forks[] = {"mkdir .AppleDouble", ": >._", "cp in.wav ._"};
    static const char *const kinds[] = {"aiff", "au",  "caf",  "w64", "rf64",
                                        "flac", "ogg", "opus", "mp3"};
    begin();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        command_run("\"$HALO\" render in.wav in.%s --gain 0", kinds[k]);
    sound_text("taps.txt", "0.5\n0.25\n0.125\n0.0625\n"); /* longer than a file's magic */
    command_done(RENDER_ALL("without"));
    for (size_t i = 0; i < sizeof forks / sizeof *forks; i++) {
        command_done("%s; " RENDER_ALL("with") " && diff -r without with && rm -r with", forks[i]);
        command_refused(1, "not a sound file of a known format",
                        "\"$HALO\" render taps.txt out.wav --gain 0");
        command_done("rm -rf ._ .AppleDouble");
    }
}

/* ---- which files are known ---- */

static bool holds(const char *path)
{
    struct stat about;
    ck_assert_int_eq(stat(path, &about), 0);
    return files_read_hold(&about);
}

static void add(const char *path)
{
    ck_assert(files_read_add(path));
}

START_TEST(a_file_is_known_by_its_inode)
{
    ck_assert_int_eq(chdir(command_folder()), 0);
    command_done("mkdir d && echo a >a && echo b >b && echo c >c && ln a hard && ln -s b soft");
    add("a");
    add("hard"); /* one inode by two names */
    add("soft");
    add("soft");
    add("d");
    add("later");
    ck_assert(holds("a") && holds("hard") && holds("b") && holds("soft"));
    ck_assert(!holds("c") && !holds("d"));
    files_read_forget("a");
    files_read_forget("a");
    files_read_forget("nothing");
    ck_assert(holds("a")); /* by its other name */
    files_read_forget("hard");
    ck_assert(!holds("a"));
    command_done("echo l >later && ln b old && mv c b"); /* soft leads to another file */
    ck_assert(!holds("later") && !holds("b") && !holds("old"));
    add("later");
    add("soft");
    ck_assert(holds("later") && holds("b") && !holds("old"));
    ck_assert(files_read_below("."));
    ck_assert(!files_read_below("d"));
    command_done("mv later d/x && ln -s d/x later && mkdir e && echo y >e/y");
    ck_assert(files_read_below("d") && !files_read_below("e"));
    ck_assert(files_read_add_below("e"));
    ck_assert(files_read_below("e") && holds("e/y"));
}

enum { KNOWN = 200, PIECES = 2000 };

/* Some names stay, others come and go, as the masks and sounds of a batch do. */
static void know_one(void *context, size_t piece, size_t worker)
{
    atomic_size_t *wrong = context;
    char stays[32], goes[32];
    struct stat about;
    snprintf(stays, sizeof stays, "stays%zu", piece % KNOWN);
    snprintf(goes, sizeof goes, "goes%zu", worker);
    bool right = files_read_add(stays) && files_read_add(goes) && stat(goes, &about) == 0 &&
                 files_read_hold(&about);
    files_read_forget(goes);
    right =
        right && !files_read_hold(&about) && stat(stays, &about) == 0 && files_read_hold(&about);
    atomic_fetch_add(wrong, !right);
}

START_TEST(many_threads_know_many_files)
{
    struct workers *workers;
    atomic_size_t wrong = 0;
    ck_assert_int_eq(chdir(command_folder()), 0);
    command_done("for i in $(seq 0 %d); do echo $i >stays$i; echo $i >goes$i; done", KNOWN - 1);
    ck_assert_int_eq(workers_create(4, &workers), STATUS_OK);
    workers_run(workers, PIECES, know_one, &wrong);
    workers_destroy(workers);
    ck_assert_uint_eq(atomic_load(&wrong), 0);
    for (size_t i = 0; i < KNOWN; i++) {
        char stays[32];
        snprintf(stays, sizeof stays, "stays%zu", i);
        ck_assert(holds(stays));
    }
}
