/* Masks as configurations of other programs, and the files these name. */
#include "mask/mask_write.h"
#include "mask/mask_write_pipewire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BRUTEFIR_BLOCK = 4096, JCONVOLVER_PARTITION = 256 };

/* The length of a path without its ending. */
static int stem_length(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    bool has_ending = dot && dot > path && (!slash || dot > slash + 1);
    return has_ending ? (int)(dot - path) : (int)strlen(path);
}

/* A file named by a configuration at `path`: "STEM-NUMBER.wav", or "STEM.wav" for number 0. */
static enum status name_beside(const char *path, const char *ending, size_t number, char **beside)
{
    int stem = stem_length(path);
    int length = number ? asprintf(beside, "%.*s-%zu%s", stem, path, number, ending)
                        : asprintf(beside, "%.*s%s", stem, path, ending);
    if (length < 0)
        return fail_memory("writing a mask");
    const char *slash = strrchr(*beside, '/');
    if (!strpbrk(slash ? slash + 1 : *beside, "\"\\\n\r#$"))
        return STATUS_OK;
    free(*beside);
    return fail(CAUSE_USAGE, "a configuration cannot name a file like %s", path);
}

static void print_jconvolver(const struct mask *mask, const char *stem, bool is_double,
                             FILE *stream)
{
    (void)is_double; /* the header of a WAV says it */
    fprintf(stream, "# Written by halo, for sound at %u Hz\n", mask->rate);
    fprintf(stream, "#              in out partition length\n/convolver/new %zu %zu %d %zu\n",
            mask->inputs, mask->outputs, JCONVOLVER_PARTITION, mask->taps);
    fprintf(stream, "#             in out gain delay offset length channel file\n");
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream, "/impulse/read %zu %zu 1 0 0 0 %zu \"%s.wav\"\n", mask->paths[p].input + 1,
                mask->paths[p].output + 1, mask->paths[p].column + 1, stem);
}

static void print_mixer(const struct mask *mask, bool is_split, FILE *stream)
{
    fprintf(stream, "  %s:\n    channels: {in: %zu, out: %zu}\n    mapping:\n",
            is_split ? "split" : "join", is_split ? mask->inputs : mask->path_count,
            is_split ? mask->path_count : mask->outputs);
    for (size_t p = 0; is_split && p < mask->path_count; p++)
        fprintf(stream,
                "      - dest: %zu\n        sources:\n          - {channel: %zu, gain: 0}\n", p,
                mask->paths[p].input);
    for (size_t o = 0; !is_split && o < mask->outputs; o++) {
        bool first = true;
        for (size_t p = 0; p < mask->path_count; p++) {
            if (mask->paths[p].output != o)
                continue;
            if (first)
                fprintf(stream, "      - dest: %zu\n        sources:\n", o);
            fprintf(stream, "          - {channel: %zu, gain: 0}\n", p);
            first = false;
        }
    }
}

/* Two mixers with a channel for every path between them. */
static void print_camilladsp(const struct mask *mask, const char *stem, bool is_double,
                             FILE *stream)
{
    (void)is_double; /* the header of a WAV says it */
    fprintf(stream,
            "# Written by halo for CamillaDSP 4: put your own devices here.\n"
            "# CamillaDSP 3 says FLOAT32LE for F32_LE.\n"
            "devices:\n  samplerate: %u\n  chunksize: 1024\n"
            "  capture: {type: Stdin, channels: %zu, format: F32_LE}\n"
            "  playback: {type: Stdout, channels: %zu, format: F32_LE}\n",
            mask->rate, mask->inputs, mask->outputs);
    fprintf(stream, "filters:\n");
    for (size_t c = 0; c < mask->columns; c++)
        fprintf(stream,
                "  mask%zu:\n    type: Conv\n    parameters: {type: Wav, filename: \"%s.wav\", "
                "channel: %zu}\n",
                c + 1, stem, c);
    fprintf(stream, "mixers:\n");
    print_mixer(mask, true, stream);
    print_mixer(mask, false, stream);
    fprintf(stream, "pipeline:\n  - {type: Mixer, name: split}\n");
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream, "  - {type: Filter, channels: [%zu], names: [mask%zu]}\n", p,
                mask->paths[p].column + 1);
    fprintf(stream, "  - {type: Mixer, name: join}\n");
}

static void print_channels(const char *what, size_t count, FILE *stream)
{
    bool is_input = strcmp(what, "input") == 0;
    fprintf(stream, "%s ", what);
    for (size_t c = 0; c < count; c++)
        fprintf(stream, "%s%zu", c ? ", " : "", c);
    fprintf(stream,
            " {\n  device: \"file\" { path: \"/dev/%s\"; };\n  sample: \"FLOAT_LE\";\n"
            "  channels: %zu;\n  maxdelay: -1;\n",
            is_input ? "stdin" : "stdout", count);
    fprintf(stream, "%s};\n", is_input ? "" : "  dither: false;\n");
}

static void print_brutefir(const struct mask *mask, const char *stem, bool is_double, FILE *stream)
{
    fprintf(stream,
            "# Written by halo: put your own devices into input and output.\n"
            "float_bits: 64;\nsampling_rate: %u;\nfilter_length: %d,%zu;\n"
            "overflow_warnings: true;\nshow_progress: false;\nmax_dither_table_size: 0;\n"
            "allow_poll_mode: false;\nmodules_path: \".\";\nmonitor_rate: false;\n"
            "powersave: false;\nlock_memory: false;\nsdf_length: -1;\n"
            "convolver_config: \"/tmp/brutefir_convolver\";\n",
            mask->rate, BRUTEFIR_BLOCK, (mask->taps + BRUTEFIR_BLOCK - 1) / BRUTEFIR_BLOCK);
    for (size_t c = 0; c < mask->columns; c++)
        fprintf(stream,
                "coeff %zu { filename: \"%s-%zu%s\"; format: \"%s\"; attenuation: 0.0; "
                "blocks: -1; skip: 0; shared_mem: false; };\n",
                c, stem, c + 1, is_double ? ".f64" : ".f32", is_double ? "FLOAT64_LE" : "FLOAT_LE");
    print_channels("input", mask->inputs, stream);
    print_channels("output", mask->outputs, stream);
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream,
                "filter %zu { from_inputs: %zu; to_outputs: %zu; coeff: %zu; process: 0; "
                "delay: 0; crossfade: false; };\n",
                p, mask->paths[p].input, mask->paths[p].output, mask->paths[p].column);
}

static enum status check_brutefir(const struct mask *mask)
{
    if (!mask->rate)
        return fail(CAUSE_USAGE, "mask %s has no rate; set --rate", mask->name);
    return STATUS_OK;
}

static void print_eqapo(const struct mask *mask, const char *stem, bool is_double, FILE *stream)
{
    (void)is_double; /* the header of a WAV says it */
    fprintf(stream, "# Written by halo, for sound at %u Hz\n", mask->rate);
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream, "Channel: %zu\nConvolution: %s-%zu.wav\n", mask->paths[p].input + 1, stem,
                mask->paths[p].column + 1);
}

static enum status check_eqapo(const struct mask *mask)
{
    for (size_t p = 0; p < mask->path_count; p++)
        for (size_t q = 0; q <= p; q++)
            if (mask->paths[p].input != mask->paths[p].output ||
                (q < p && mask->paths[q].input == mask->paths[p].input))
                return fail(CAUSE_UNSUPPORTED,
                            "mask %s routes one channel to another, which Equalizer APO's "
                            "Convolution: cannot",
                            mask->name);
    return STATUS_OK;
}

static const struct mask_config_writer writers[] = {
    {"jconvolver", ".wav", true, NULL, print_jconvolver, false},
    {"camilladsp", ".wav", true, NULL, print_camilladsp, false},
    {"brutefir", ".f32", false, check_brutefir, print_brutefir, false},
    {"eqapo", ".wav", false, check_eqapo, print_eqapo, false},
    {"pipewire", ".wav", true, mask_write_pipewire_check, mask_write_pipewire, true},
};

const struct mask_config_writer *mask_config_writer_at(size_t index)
{
    return index < sizeof writers / sizeof *writers ? &writers[index] : NULL;
}

static enum status write_files(const struct mask_config_writer *writer, const struct mask *mask,
                               const char *path, const struct mask_write_settings *settings)
{
    bool is_raw = strcmp(writer->ending, ".f32") == 0;
    for (size_t c = 0; c < (writer->has_one_file ? 1 : mask->columns); c++) {
        char *file;
        struct mask part = *mask;
        const char *ending = is_raw && settings->is_double ? ".f64" : writer->ending;
        TRY(name_beside(path, ending, writer->has_one_file ? 0 : c + 1, &file));
        if (!writer->has_one_file) {
            part.columns = 1;
            part.coefficients = mask_column(mask, c);
        }
        enum status status =
            is_raw ? mask_write_raw(&part, file, settings) : mask_write_wav(&part, file, settings);
        free(file);
        TRY(status);
    }
    return STATUS_OK;
}

/* What the configuration calls its files, without their ending. */
static enum status name_stem(const struct mask_config_writer *writer, const char *path, char **stem)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int length = (int)(path + stem_length(path) - name);
    char *folder = NULL;
    if (writer->has_folder) {
        char *given = strndup(slash ? path : ".", slash ? (size_t)(name - path) : 1);
        folder = given ? realpath(given, NULL) : NULL;
        free(given);
        if (!folder)
            return fail_errno(errno, "cannot write %s", path);
        if (strpbrk(folder, "\"\\\n\r")) {
            free(folder);
            return fail(CAUSE_USAGE, "a configuration cannot name a file like %s", path);
        }
    }
    int made = folder ? asprintf(stem, "%s/%.*s", folder, length, name)
                      : asprintf(stem, "%.*s", length, name);
    free(folder);
    return made >= 0 ? STATUS_OK : fail_memory("writing a mask");
}

enum status mask_config_write(const struct mask_config_writer *writer, const struct mask *mask,
                              const char *path, const struct mask_write_settings *settings)
{
    struct text_file *file;
    if (writer->check)
        TRY(writer->check(mask));
    /* Before the first file is written, so that a refusal leaves none. */
    if (!settings->force && access(path, F_OK) == 0)
        return fail(CAUSE_EXISTS, "%s exists; --force replaces it", path);
    char *stem;
    TRY(name_stem(writer, path, &stem));
    enum status status = write_files(writer, mask, path, settings);
    if (status == STATUS_OK)
        status = text_file_open(path, settings, &file);
    if (status == STATUS_OK) {
        writer->print(mask, stem, settings->is_double, text_file_stream(file));
        status = text_file_keep(file);
    }
    free(stem);
    return status;
}
