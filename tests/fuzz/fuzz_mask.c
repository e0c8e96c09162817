/* libFuzzer target for one mask reader: FUZZ_READER, on files with the suffix FUZZ_ENDING.
 *
 * The file's folder contains short masks that configurations may name: a.wav (2 channels),
 * b.txt, c.f32, and i.txt to include.
 */
#include "fuzz_mask_check.h"
#include "import/mask_reader.h"

#include <math.h>
#include <sndfile.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/halo-fuzz-XXXXXX";
static char path[64], message[1024];

static void save(const char *name, const char *text)
{
    char file[64];
    snprintf(file, sizeof file, "%s/%s", folder, name);
    FILE *stream = fopen(file, "wb");
    if (!stream || fputs(text, stream) < 0 || fclose(stream) != 0)
        abort();
}

static void save_sound(void)
{
    static const float taps[8] = {0.5f, 0.25f, -0.5f, 0.125f, 0, 1, 0.0625f, 0};
    SF_INFO info = {.samplerate = 48000, .channels = 2, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    char file[64];
    snprintf(file, sizeof file, "%s/a.wav", folder);
    SNDFILE *sound = sf_open(file, SFM_WRITE, &info);
    if (!sound || sf_writef_float(sound, taps, 4) != 4)
        abort();
    sf_close(sound);
}

static void remove_folder(void)
{
    static const char *const names[] = {"a.wav", "b.txt", "c.f32", "i.txt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        unlink(file);
    }
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    if (!mkdtemp(folder))
        abort();
    atexit(remove_folder);
    save_sound();
    save("b.txt", "1\n-0.5\n0.25\n");
    save("c.f32", "abcdefgh");
    save("i.txt", "Preamp: -3 dB\nInclude: i.txt\n");
    snprintf(path, sizeof path, "%s/input%s", folder, FUZZ_ENDING);
    note_verbosity(VERBOSITY_QUIET);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct mask_load_options options = {.sound = {.rate = 48000, .channels = 2},
                                              .raw.rate = 48000};
    struct mask *mask = NULL;
    FILE *stream = fdopen(memfd_create("input", 0), "w+b");
    if (!stream || (size > 0 && fwrite(data, size, 1, stream) != 1))
        abort();
    rewind(stream);
    message[0] = '\0';
    log_capture(message, sizeof message);
    enum status status = mask_reader_read(&FUZZ_READER, path, stream, &options, &mask);
    log_capture(NULL, 0);
    if ((status != STATUS_OK) != (message[0] != '\0')) /* an error text, and only on failure */
        abort();
    if (status == STATUS_OK && mask)
        fuzz_mask_check(mask);
    mask_destroy(mask);
    fclose(stream);
    return 0;
}
